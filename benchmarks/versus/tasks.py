"""What is asked of a fitted contender after the clock has started, and how the answer is judged after it."""

import numpy as np


def rmse(prediction, Y_test) -> float:
    return float(np.sqrt(np.mean((np.asarray(prediction, dtype="float64") - Y_test) ** 2)))


class Mean:
    """Predictions of the mean."""

    @staticmethod
    def predict(model, X):
        return model.predict(X)

    @staticmethod
    def judge(spec, model, answer, train, test) -> dict:
        return {"test_rmse": rmse(answer, test[1]), "prediction_dtype": str(np.asarray(answer).dtype)}


class Tube(Mean):
    """The ε-insensitive loss: also J = Σ max(0, |f + b − y| − ε) + (α/2)‖f‖², what everybody minimises."""

    @staticmethod
    def judge(spec, model, answer, train, test) -> dict:
        from contenders_losses import squared_norm

        X, y = train
        outside = np.maximum(np.abs(model.predict(X) - y) - spec["epsilon"], 0)
        J = outside.sum() + spec["alpha"] / 2 * squared_norm(model, X)
        return Mean.judge(spec, model, answer, train, test) | {"objective": float(J)}


class Quantiles(Mean):
    """The pinball loss of each level, on the rows seen (what everybody minimises) and on others."""

    @staticmethod
    def judge(spec, model, answer, train, test) -> dict:
        def mean_loss(quantiles, y) -> float:
            residual = y[:, None] - quantiles
            levels = np.array(spec["levels"])
            return float(np.maximum(levels * residual, (levels - 1) * residual).mean())

        return {
            "objective": mean_loss(model.predict(train[0]), train[1]),
            "test_pinball": mean_loss(answer, test[1]),
        }


class Process(Mean):
    """Mean and deviation of a new observation; NMLL is the mean of −log of its density."""

    @staticmethod
    def predict(model, X):
        return model.predict(X, return_std=True)

    @staticmethod
    def judge(spec, model, answer, train, test) -> dict:
        mean, std = answer
        if not getattr(model, "std_has_noise", True):
            std = np.sqrt(std**2 + spec["alpha"])
        density = np.log(2 * np.pi * std**2) / 2 + (test[1] - mean) ** 2 / (2 * std**2)
        return {"test_rmse": rmse(mean, test[1]), "test_nmll": float(density.mean())}


TASKS = {"mean": Mean, "tube": Tube, "quantiles": Quantiles, "process": Process}
