"""Writes the projects that a page shows into a folder.

usage: page_projects.py PAGE FOLDER

A fenced block behind `<!-- file: PATH -->` is that file; one of ```sh stays text.
Any other block would be tested by nobody and is an error.
"""

import pathlib
import re
import sys

BLOCK = re.compile(r"(?:^<!-- file: (\S+) -->\n)?^```(\S*)\n(.*?)^```$",
                   re.DOTALL | re.MULTILINE)


def main():
    page, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    for path, language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if path:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        elif language != "sh":
            sys.exit(f"{page}: a block of '{language}' is no file: "
                     f"put <!-- file: PATH --> in front of\n{text}")


if __name__ == "__main__":
    main()
