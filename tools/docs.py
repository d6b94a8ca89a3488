"""Write the generated pages of docs/, or check that they are what the code says.

python -m tools.docs            write them
python -m tools.docs --check    exit 1 and show the difference where one is out of date
"""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path

from filmgate.app.cli import app
from tools.command_page import command_page
from tools.environment import ROOT
from tools.job_page import job_page
from tools.proof_page import proof_page
from tools.records_page import records_page

PACKAGE = ROOT / "src" / "filmgate"
DOCS = ROOT / "docs"


def generated_pages() -> dict[Path, str]:
    """Path of each generated page -> what it has to say."""
    return {
        DOCS / "cli.md": command_page(app, "filmgate"),
        DOCS / "job.md": job_page(PACKAGE),
        DOCS / "proof.md": proof_page(),
        DOCS / "records.md": records_page(PACKAGE),
    }


def main() -> int:
    """Exit code 0, or 1 where ``--check`` found a difference."""
    parser = argparse.ArgumentParser(description="Write the generated pages of docs/.")
    parser.add_argument("--check", action="store_true", help="change nothing; show differences")
    check = parser.parse_args().check
    outdated = []
    for path, wanted in generated_pages().items():
        found = path.read_text() if path.exists() else ""
        if found == wanted:
            continue
        outdated.append(path)
        if check:
            name = str(path.relative_to(ROOT))
            found_lines, wanted_lines = found.splitlines(True), wanted.splitlines(True)
            difference = difflib.unified_diff(found_lines, wanted_lines, name, f"{name} generated")
            sys.stdout.writelines(difference)
        else:
            path.write_text(wanted)
            print(f"wrote {path.relative_to(ROOT)}")
    if check and outdated:
        print("error: generated pages are out of date\nhint: make docs", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
