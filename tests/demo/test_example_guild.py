"""Test the guild example: find mates by prefix, and send mail only to members."""

from __future__ import annotations

import secrets
import subprocess
import sys
from typing import Any

import pytest

from faults.servers import Server
from holdfast import Holdfast
from holdfast_demo.example_files import example_file, load_example

EXAMPLE = example_file("guild.py")


def test_members_get_mail(standalone: Server) -> None:
    """Send mail to members only; suggest recent recipients first."""
    example: Any = load_example(EXAMPLE)
    with Holdfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        guild = example.Guild(hf, "3")
        for player in ("jeff", "jenny", "jennifer"):
            assert guild.join(player)
        assert not guild.join("jeff")
        assert guild.mates("JE") == ["jeff", "jennifer", "jenny"]
        assert guild.write("jack", "jenny", "hi") == 1
        assert guild.suggestions("jack", "je") == ["jenny", "jeff", "jennifer"]
        assert guild.leave("jenny")
        assert not guild.leave("jenny")
        for name in ("jenny", "jen", "Jeff"):
            with pytest.raises(example.NoSuchMate, match="is no member of guild 3"):
                guild.write("jack", name, "hi")
        assert guild.suggestions("jack", "je") == ["jeff", "jennifer"]
        assert hf.mailbox("jenny").status().unread == 1
        assert hf.mailbox("jen").status().unread == 0


def test_it_runs(standalone: Server) -> None:
    """Run it as its first lines say; only the mail stays on a server of the user."""
    done = subprocess.run(
        [sys.executable, EXAMPLE, standalone.url], capture_output=True, text=True, check=True
    )
    assert "je: jeff, jennifer, jenny" in done.stdout
    assert "jeff is no member of guild 3" in done.stdout
