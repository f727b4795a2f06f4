"""What a process keeps of its start."""

import subprocess
import sys

PROGRAM = """
import hashlib, re, ssl, threading
from tayet._tayet import give_back_memory

def mapped_of_files():
    return int(re.search("RssFile:\\\\s+(\\\\d+) kB", open("/proc/self/status").read())[1])

{before}
loaded = mapped_of_files()
give_back_memory()
print(loaded, mapped_of_files())
# All that was let go of is needed here, or may be.
ssl.create_default_context()
print(hashlib.sha256(b"tayet").hexdigest(), float("1.5") ** 0.5)
"""


def measure(before):
    program = PROGRAM.format(before=before)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    figures, results = run.stdout.splitlines()
    assert results == "79d6f626910244388256cdaeb595a98cc127a5a415860dad78f8ec3626aeb5ac 1.224744871391589"
    return map(int, figures.split())


def test_the_pages_that_only_loading_needed_are_given_back():
    loaded, kept = measure("")
    assert kept < loaded / 2


def test_beside_other_threads_nothing_is_unmapped():
    loaded, kept = measure("threading.Thread(target=threading.Event().wait, daemon=True).start()")
    assert kept > loaded * 0.9
