"""Run the command line with `python -m hindsight_integrations.cli`."""

from hindsight_integrations.cli import main

main()
