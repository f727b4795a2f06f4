//! An application server for code that blocks.
