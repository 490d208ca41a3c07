"""The loss of an epoch, as fine-tuning reports it."""

from types import SimpleNamespace

import pytest

from headscope.runs.tune.trainer import LengthTrainer


@pytest.mark.parametrize(
    ("losses", "epochs", "means"),
    [
        ([1, 2, 3, 4, 5, 6, 7], 3, [2, 5, 7]),
        ([1, 2], 2, [1, 2]),  # one step in each
        ([1.5], 3, [1.5]),  # stopped early
        ([], 1, []),
    ],
)
def test_the_loss_of_an_epoch_is_the_mean_of_its_steps(losses, epochs, means):
    trainer = SimpleNamespace(losses=losses, args=SimpleNamespace(num_train_epochs=epochs))
    assert LengthTrainer.epoch_losses(trainer) == pytest.approx(means)
