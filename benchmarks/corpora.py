"""How fast a collection on this machine is read and counted: documents and megabytes a second, peak memory."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from typing import Any

from textcat.corpora import open_corpus
from textcat.text.counting import count_terms
from textcat.text.text_settings import TextSettings


def bench_corpus(name: str, folder: Path, settings: TextSettings, jobs: int = 1) -> dict[str, Any]:
    """One collection, from its files to counts; peak memory is of the whole process so far."""
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    started, used = time.perf_counter(), time.process_time()
    counted = count_terms(open_corpus(name, folder).documents(), settings, n_jobs=jobs, missing_fields=True)
    wall, processor = time.perf_counter() - started, time.process_time() - used
    return {
        "corpus": name,
        "documents": len(counted.ids),
        "terms": len(counted.terms),
        "nonzeros": int(counted.counts.nnz),
        "seconds": round(wall, 2),
        "processor_seconds": round(processor, 2),
        "documents_per_second": round(len(counted.ids) / wall),
        "megabytes_per_second": round(size / 1e6 / wall, 1),
        "peak_megabytes": round(_measure_peak_bytes() / 1e6),
    }


def _measure_peak_bytes() -> int:
    """Linux counts in kilobytes, macOS in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
