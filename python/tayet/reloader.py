"""Noticing that the application's files change."""

import os
import sys
import threading
import time

# How often the files are looked at.
LOOK_SECONDS = 0.5


class Reloader:
    """Calls ``changed`` once, from a thread of its own, when a file of a loaded module or an extra one changes."""

    def __init__(self, extra, changed):
        self._extra = extra
        self._changed = changed
        self._since = time.time()
        self._known = {}

    def start(self):
        threading.Thread(target=self._look, name="tayet-reloader", daemon=True).start()

    def _look(self):
        while not self._has_changed():
            time.sleep(LOOK_SECONDS)
        self._changed()

    def _has_changed(self):
        return any([self._is_new(path) for path in self._files()])

    def _is_new(self, path):
        try:
            modified = os.stat(path).st_mtime
        except OSError:
            modified = None
        if path not in self._known:
            self._known[path] = modified
            # Changed between the beginning of loading and this first look.
            return modified is not None and modified > self._since
        return self._known[path] != modified

    def _files(self):
        modules = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
        # A module that failed to load is not among them: the files beside the others may be its.
        directories = {os.getcwd()}
        beside = [entry.path for directory in directories for entry in os.scandir(directory) if entry.name.endswith(".py")]
        return {*filter(None, modules), *beside, *self._extra}
