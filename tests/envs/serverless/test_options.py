"""What cannot be an environment of the serverless platform, said in one clear line each."""

from __future__ import annotations

from itertools import count
from typing import Any

import gymnasium
import pytest
import varigym
from serverless_small import CHAIN, FORK, small_world, source
from varigym import InputError
from varigym.agents.vec_env import ServerlessGpuVecEnv
from varigym.envs.serverless.bank import make_bank
from varigym.envs.serverless.mdp.faces import ServerlessGpuEnv
from varigym.registration import SERVERLESS, make_serverless_bank

NAN = float("nan")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"choose_invokers": True}, "choose_invokers.*did you mean choose_invoker"),
        ({"window": 4}, "unknown environment option 'window'"),
        ({"choose_invoker": "yes"}, "choose_invoker = 'yes'; legal: True or False"),
        ({"log": 1}, "log = 1; legal: True or False"),
        ({"price_weight": -0.1}, "price_weight = -0.1; legal"),
        ({"price_weight": NAN}, "price_weight = nan; legal"),
        ({"price_weight": "cheap"}, "price_weight = 'cheap'; legal"),
        ({"price_weight": True}, "price_weight = True; legal"),
        ({"price_weight": None}, "price_weight = None; legal"),
        ({"illegal_action": "crash"}, "illegal_action = 'crash'; legal: noop, penalty, error"),
        ({"illegal_penalty": -1.0}, "illegal_penalty = -1.0; legal"),
        ({"illegal_penalty": NAN}, "illegal_penalty = nan; legal"),
        ({"reward_scale": 0}, "reward_scale = 0; legal"),
        ({"reward_scale": "big"}, "reward_scale = 'big'; legal"),
        ({"window_s": 0}, "window_s = 0; legal: a finite number > 0"),
        ({"window_s": -1.0}, "window_s = -1.0; legal: a finite number > 0"),
        ({"window_s": NAN}, "window_s = nan; legal: a finite number > 0"),
        ({"window_s": float("inf")}, "window_s = inf; legal: a finite number > 0"),
        ({"window_s": "20"}, "window_s = '20'; legal: a finite number > 0"),
        ({"window_s": True}, "window_s = True; legal: a finite number > 0"),
        ({"window_s": 1e12}, "window_s = 1000000000000.0; legal: a finite number > 0 and <="),
        ({"scenario": "overload", "window_s": 1e-6}, "window_s = 1e-06; legal: longer than 0.0129231 s"),
        ({"worlds": 0}, "worlds = 0; legal: a whole number, 1 to 100,000"),
        ({"worlds": 1.5}, "worlds = 1.5; legal"),
        ({"worlds": "all"}, "worlds = 'all'; legal"),
        ({"bank": "trian"}, "bank 'trian'.*train"),
        ({"bank": None}, "unknown bank 'None'"),
        ({"scenario": "overlaod"}, "overlaod.*did you mean overload"),
        ({"scenario": "sia-64"}, "sia-64"),
        ({"scenario": "overload:invokrs=4"}, "invokrs.*did you mean invokers"),
        ({"scenario": 3}, "scenario = 3; legal"),
        ({"scenario": None}, "scenario = None; legal"),
        ({"base": "egs"}, "unknown scheduler 'egs'; did you mean esg"),
        ({"base": "fifo+pal"}, "unknown scheduler 'fifo.pal'"),
        ({"base": "esg:margn=1"}, "margn.*did you mean margin"),
        ({"base": varigym.find_policy("fifo+pal")}, "base = .*; legal: a scheduler without memory"),
        ({"base": None}, "base = None; legal: a scheduler"),
        ({"render_mode": "human"}, "render_mode = 'human'; legal: 'ansi'"),
    ],
    ids=count(),
)
def test_bad_options_are_refused_in_words(given: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says) as told:
        gymnasium.make(SERVERLESS, **{"scenario": source(FORK), "worlds": 2, "base": "min-config", **given})
    # Gymnasium adds all keywords to what it takes for a wrong one, here a scenario of many lines.
    assert "\n" not in str(told.value) or "render_mode" in given


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"num_envs": 0}, "num_envs = 0; legal"),
        ({"autoreset_mode": "Never"}, "autoreset_mode = 'Never'; legal: NextStep"),
        ({"render_mode": "ansi"}, "render_mode = 'ansi'; a batch is not rendered"),
        ({"logs": True}, "logs.*did you mean log"),
    ],
    ids=str,
)
def test_bad_batches_are_refused_in_words(given: dict[str, Any], says: str) -> None:
    made = {"scenario": source(FORK), "worlds": 2, "base": "min-config", "num_envs": 2, **given}
    with pytest.raises(InputError, match=says):
        gymnasium.make_vec(SERVERLESS, **made)


def test_the_other_kind_s_environment_is_named() -> None:
    with pytest.raises(InputError, match="varigym/GpuCluster-v0"):
        make_serverless_bank(varigym.registration.make_bank("tiny", worlds=1).scenarios[0])
    with pytest.raises(InputError, match=r"cluster|GpuCluster"):
        make_serverless_bank("sia-64")


def test_parts_of_the_wrong_kind_are_refused() -> None:
    base, bank = varigym.find_scheduler("min-config"), make_bank([small_world(0)])
    other = varigym.registration.make_bank("tiny", worlds=1)
    with pytest.raises(
        InputError, match=r"bank is a Bank of varigym\.envs\.cluster\.bank; legal: .*make_serverless_bank"
    ):
        ServerlessGpuEnv(other, base)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"options = .*; legal: ServerlessOptions"):
        ServerlessGpuEnv(bank, base, {"log": True})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="base = 'esg'; legal: a scheduler"):
        ServerlessGpuVecEnv(bank, "esg", 2)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no serverless platform"):
        make_bank(list(other.scenarios))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="worlds of one bank need one platform"):
        make_bank([small_world(0), small_world(0, CHAIN)])
    with pytest.raises(InputError, match="at least one scenario"):
        make_bank([])
