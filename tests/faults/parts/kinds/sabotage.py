# SPDX-License-Identifier: MIT
"""Faults of nobody, so that a test can see that the harness notices them."""
from .files import OutputFault


class Sabotage(OutputFault):
    """Spoils what arrived, so that a test can see that the harness notices."""
    hidden = True
    way = None

    def inject(self):
        pass

    def after(self):
        path = self.lap.output_of(self.random.choice(self.lap.senders()))
        with open(path, "rb") as file:
            lines = file.readlines()
        at = self.random.randrange(len(lines) // 2)
        if self.way == "lose":
            del lines[at]
        elif self.way == "repeat":
            lines.insert(at, lines[at])
        elif self.way == "swap":
            lines.append(lines.pop(at))
        else:
            lines.pop()
        with open(path, "wb") as file:
            file.writelines(lines)


for _way in ("lose", "repeat", "swap", "end"):
    type(f"sabotage-{_way}", (Sabotage,), {"name": f"sabotage-{_way}", "way": _way})
