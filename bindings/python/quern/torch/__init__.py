"""Quern's operations on tensors of PyTorch, on CPUs and GPUs."""
from .adamw import AdamW, clip_grad_norm_
from .loss import (Outputs, cross_entropy, divergence, linear_cross_entropy, log_prob_and_entropy, log_probs_of,
                   top_log_probs)
from .quantize import quantize
from .ranks import Group, ragged_all_to_all

__all__ = ["AdamW", "Group", "Outputs", "clip_grad_norm_", "cross_entropy", "divergence", "linear_cross_entropy",
           "log_prob_and_entropy", "log_probs_of", "quantize", "ragged_all_to_all", "top_log_probs"]
