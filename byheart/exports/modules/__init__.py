"""Files that an export copies: each stands on its own and needs torch and safetensors alone."""
