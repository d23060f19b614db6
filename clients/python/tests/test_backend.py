"""What the package is built to."""

from __future__ import annotations

import base64
import hashlib
import sys
import tarfile
import tempfile
import unittest
import zipfile
from email import message_from_bytes
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import backend  # noqa: E402

import hookferry  # noqa: E402


class BackendTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_the_wheel_has_the_package_its_metadata_and_a_record_of_all(self) -> None:
        wheel = zipfile.ZipFile(self.folder / backend.build_wheel(str(self.folder)))
        self.addCleanup(wheel.close)
        info = f"hookferry-{hookferry.__version__}.dist-info"
        names = wheel.namelist()
        self.assertEqual(len(names), len(set(names)))
        for name in ("hookferry/__init__.py", "hookferry/py.typed", f"{info}/licenses/LICENSE", f"{info}/WHEEL"):
            self.assertIn(name, names)
        self.assertEqual([name for name in names if name.startswith("tests") or "__pycache__" in name], [])
        record = [line.split(",") for line in wheel.read(f"{info}/RECORD").decode().splitlines()]
        self.assertEqual([name for name, _, _ in record], names)
        for name, digest, size in record[:-1]:
            content = wheel.read(name)
            expected = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            self.assertEqual((digest, size), (f"sha256={expected}", str(len(content))))
        metadata = message_from_bytes(wheel.read(f"{info}/METADATA"))
        self.assertEqual((metadata["Name"], metadata["Version"]), ("hookferry", hookferry.__version__))
        self.assertEqual(metadata.get_all("Requires-Dist"), ['cryptography>=40; extra == "ed25519"'])
        self.assertEqual(len(metadata.get_all("Project-URL") or []), 4)
        self.assertIn("# hookferry for Python", str(metadata.get_payload()))

    def test_the_same_sources_give_the_same_wheel(self) -> None:
        wheels = []
        for name in ("a", "b"):
            (self.folder / name).mkdir()
            wheels.append((self.folder / name / backend.build_wheel(str(self.folder / name))).read_bytes())
        self.assertEqual(*wheels)

    def test_the_source_distribution_can_be_built_from(self) -> None:
        with tarfile.open(self.folder / backend.build_sdist(str(self.folder))) as archive:
            names = {name.split("/", 1)[1] for name in archive.getnames()}
        for name in ("pyproject.toml", "backend.py", "PKG-INFO", "src/hookferry/py.typed", "tests/test_client.py"):
            self.assertIn(name, names)

    # Python reads TOML since 3.11.
    if sys.version_info >= (3, 11):

        def test_reads_the_project_as_toml_says(self) -> None:
            import tomllib

            text = (backend.ROOT / "pyproject.toml").read_text("utf-8")
            read, toml = backend.read_project(text), tomllib.loads(text)
            urls, extras = toml["project"].pop("urls"), toml["project"].pop("optional-dependencies")
            expected = {"project": toml["project"], "project.urls": urls, "project.optional-dependencies": extras}
            self.assertEqual({name: read[name] for name in expected}, expected)


if __name__ == "__main__":
    unittest.main()
