import pytest

from hostler.lab.simulate import MACS, run_seed
from hostler.lab.weather import Size

DAY = Size(days=1.0)
CALM = (7, 14, 21)


@pytest.mark.parametrize("seed", CALM)
def test_on_a_calm_day_fleets_of_macs_reach_their_sizes_and_rest(seed: int):
    result = run_seed(seed, DAY, provider=MACS)
    assert result.violation is None, "\n".join(result.story)
    assert result.calm
    assert result.machine_seconds > 0


def test_a_seed_of_macs_is_the_same_again():
    assert run_seed(3, DAY, provider=MACS).digest == run_seed(3, DAY, provider=MACS).digest
