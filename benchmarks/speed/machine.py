"""Description of the machine that the figures were measured on."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median

from hindsight_integrations._version import __version__
from hindsight_integrations.nlp.onnx_encoder import cores

_LIBRARIES = ("chromadb", "numpy", "onnxruntime", "spacy")
_TIMING = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"


def description() -> str:
    """Return processor, cores, load, versions and date, in a sentence or two."""
    libraries = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    return (
        f"{processor()}, {cores()} cores{_busy()}, {platform.system()} {platform.machine()}; "
        f"Python {platform.python_version()}, hindsight-integrations {__version__}, {libraries}; "
        f"{date.today():%d %B %Y}."
    )


def processor() -> str:
    """Return the processor's name, as the system gives it."""
    info = Path("/proc/cpuinfo")
    if info.exists() and (model := re.search(r"model name\s*:\s*(.+)", info.read_text())):
        return model.group(1).strip()
    return platform.processor() or "unknown processor"


def _busy() -> str:
    """Return the load by other processes, if it is more than half the cores."""
    waiting = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return f" (busy with other work: load {waiting:.1f})" if waiting > 0.5 * cores() else ""


def peak_memory() -> int:
    """Return the peak memory of this process, in bytes."""
    status = Path("/proc/self/status")
    if status.exists() and (peak := re.search(r"VmHWM:\s*(\d+) kB", status.read_text())):
        return int(peak.group(1)) * 1024
    import resource

    peak_units = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak_units if sys.platform == "darwin" else peak_units * 1024


def disk_usage(folder: Path) -> int:
    """Return the size of the files in a folder, in bytes."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def import_seconds(statement: str, times: int) -> float:
    """Return the median seconds of an import statement in a new process."""
    command = [sys.executable, "-c", _TIMING.format(statement)]
    return median(float(subprocess.check_output(command)) for _ in range(times))
