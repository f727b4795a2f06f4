//! Event loops, execution models and connections of Tayet.
