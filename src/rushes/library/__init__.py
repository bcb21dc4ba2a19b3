"""The product: assets, and the pipelines that are run for them."""
