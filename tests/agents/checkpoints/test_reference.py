"""The checkpoints that are shipped can be opened, and say how they were made."""

from __future__ import annotations

from pathlib import Path

from varigym.agents.checkpoints.checkpoint import load_checkpoint
from varigym.agents.checkpoints.policies import load_policy
from varigym.agents.serverless.es_run import SETTINGS
from varigym.policies.cluster.index_net import LearnedIndex
from varigym.policies.serverless.esg.learned import LearnedEsg

REFERENCE = Path(__file__).resolve().parents[3] / "runs" / "reference"


def test_the_learned_index_of_the_cluster() -> None:
    made = load_checkpoint(REFERENCE / "cluster").training
    assert (made.recipe, made.teacher, made.scenarios, made.seeds) == (
        "es",
        "gittins+pal+backfill",
        ("sia-64:restart_s=90",),
        (0,),
    )
    assert made.recipe_options["generations"] == made.notes["generations_done"]
    _, policy = load_policy(REFERENCE / "cluster")
    assert isinstance(policy, LearnedIndex)
    assert policy.expert.name == made.teacher


def test_the_learned_esg_of_the_serverless_platform() -> None:
    made = load_checkpoint(REFERENCE / "serverless").training
    assert (made.recipe, made.teacher, made.scenarios, made.seeds) == ("es", "esg", SETTINGS, (0,))
    assert made.recipe_options["generations"] == made.notes["generations_done"]
    _, policy = load_policy(REFERENCE / "serverless")
    assert isinstance(policy, LearnedEsg)
    assert policy.expert.name == made.teacher
