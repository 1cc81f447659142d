#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# timeout: 900
"""Every order in which a lane can move between two receivers and be settled with them, with deaths at each step.

A state has the sender's ring (what is acknowledged, the last receiver, who is unsettled), each receiver's file and
position, and what is on its way. All states are visited that the steps of k2hft-protocol(7) can lead to, with a few deaths
and broken connections, none of which a side need notice. Where everything is acknowledged and all are settled, each record
must be at one receiver, once. The same explorer must find a fault in each of the orders of MUTATIONS, which are wrong.
"""
import sys
from collections import namedtuple

RECORDS = 1
DEATHS = 1
BREAKS = 2
STALE_MAX = 1  # connections that the sender has given up, and whose bytes can arrive yet
MUTATIONS = {
    "none": "as it is",
    "send first": "DATA is sent before the move is in the ring",
    "welcome first": "WELCOME is sent before the receiver has taken back",
    "no fence": "settlement does not end older sessions",
    "forgotten early": "a receiver is removed from the list when it is greeted",
    "same epoch": "a greeting that settles has the epoch of an earlier one",
    "side stays": "settlement goes on beside a lane that goes to the same receiver",
    "sent is h": "the list has the position up to which was sent",
}
# up, down: messages on their way; session: whether HELLO was taken and not ended since.
Connection = namedtuple("Connection", "receiver session up down")
# epoch: the highest that a session had; it goes with the process, as all connections do.
Receiver = namedtuple("Receiver", "position file owes epoch")
# main, side: connections; ready: WELCOME came on main; sent: up to which record; late: a move that is to be persisted.
Sender = namedtuple("Sender", "head last unsettled epoch main ready sent side late")
State = namedtuple("State", "sender receivers stale deaths breaks")
NEW = Sender(0, None, (), 1, None, False, 0, None, None)


class Wrong(Exception):
    pass


def moved(sender, receiver, position):
    """The ring when `receiver` is the last one now."""
    unsettled = dict(sender.unsettled)
    unsettled.pop(receiver, None)
    if sender.last not in (None, receiver):
        unsettled[sender.last] = position
    return sender._replace(last=receiver, epoch=sender.epoch + (sender.last != receiver), unsettled=tuple(sorted(unsettled.items())))


def ordered(connections):
    """So that states that differ in this order only are one."""
    return tuple(sorted(connections, key=str))


def given_up(stale, connection):
    """Its bytes can arrive yet; what comes back is not heard."""
    if not connection or not connection.up or len(stale) == STALE_MAX:
        return stale
    return ordered(stale + (connection._replace(down=()),))


def replaced(state, which, connection):
    return state._replace(sender=state.sender._replace(**{which: connection}))


def ranked(state):
    """The same state with epochs from 1 on: only their order says anything."""
    sender = state.sender
    connections = [one for one in (sender.main, sender.side, *state.stale) if one]
    epochs = {sender.epoch, *(one.epoch for one in state.receivers)} | {
        message[-1] for one in connections for message in one.up if message[0] == "HELLO"}
    rank = {epoch: number for number, epoch in enumerate(sorted(epochs | {0}))}

    def of(connection):
        return connection and connection._replace(
            up=tuple(one[:-1] + (rank[one[-1]],) if one[0] == "HELLO" else one for one in connection.up))

    return state._replace(
        sender=sender._replace(epoch=rank[sender.epoch], main=of(sender.main), side=of(sender.side)),
        receivers=tuple(one._replace(epoch=rank[one.epoch]) for one in state.receivers), stale=ordered(map(of, state.stale)))


class Explorer:
    def __init__(self, mutation):
        self.mutation = mutation
        self.seen = {}
        self.ends = 0

    def run(self):
        start = State(NEW, (Receiver(0, (), None, 0),) * 2, (), DEATHS, BREAKS)
        waiting = [start]
        self.seen[start] = None
        while waiting:
            state = waiting.pop()
            self.look(state)
            for following in map(ranked, self.steps(state)):
                if following not in self.seen:
                    self.seen[following] = state
                    waiting.append(following)

    def look(self, state):
        sender = state.sender
        if sender.head < RECORDS or sender.unsettled or sender.late or any(one.up for one in state.stale):
            return
        self.ends += 1
        for record in range(1, RECORDS + 1):
            there = sum(receiver.file.count(record) for receiver in state.receivers)
            if there != 1 and not any(receiver.owes is not None for receiver in state.receivers):
                raise Wrong(f"record {record} is there {there} times:\n{self.way_to(state)}")

    def way_to(self, state):
        lines = []
        while state:
            lines.insert(0, f"    {state}")
            state = self.seen[state]
        return "\n".join(lines)

    def steps(self, state):
        yield from self.sender_steps(state)
        for number, stale in enumerate(state.stale):
            rest = state.stale[:number] + state.stale[number + 1:]
            yield state._replace(stale=rest)
            yield from self.taken(state, stale, lambda state, new, rest=rest: state._replace(
                stale=ordered(rest + (new._replace(down=()),))))
        for which in ("main", "side"):
            connection = getattr(state.sender, which)
            if connection:
                yield from self.taken(state, connection, lambda state, new, which=which: replaced(state, which, new))
        for number, receiver in enumerate(state.receivers):
            if receiver.owes is not None:
                yield self.with_receiver(state, number, self.cut(receiver, receiver.owes)._replace(owes=None))
        if state.deaths:
            yield from self.deaths(state)

    @staticmethod
    def with_receiver(state, number, receiver):
        receivers = list(state.receivers)
        receivers[number] = receiver
        return state._replace(receivers=tuple(receivers))

    # The sender

    def sender_steps(self, state):
        sender = state.sender
        if sender.late:
            yield state._replace(sender=moved(sender, *sender.late)._replace(late=None))
        if not sender.main:
            for receiver in (0, 1):
                yield self.greet(state, "main", receiver)
        else:
            yield from self.heard(state)
            if sender.ready and sender.sent < RECORDS:
                data = ("DATA", sender.sent + 1)
                main = sender.main._replace(up=sender.main.up + (data,))
                yield state._replace(sender=sender._replace(main=main, sent=sender.sent + 1))
            if state.breaks:
                yield self.broken(state, "main")
        if not sender.side:
            for receiver, _ in sender.unsettled:
                if not sender.main or sender.main.receiver != receiver:
                    yield self.greet(state, "side", receiver)
        else:
            for message in sender.side.down[:1]:
                # WELCOME, and BYE.
                left = tuple(one for one in sender.unsettled if one[0] != sender.side.receiver)
                assert message[0] == "WELCOME"
                yield state._replace(sender=sender._replace(unsettled=left, side=None))
            if state.breaks:
                yield self.broken(state, "side")

    def greet(self, state, which, receiver):
        sender = state.sender
        position = dict(sender.unsettled).get(receiver)
        if position is not None and self.mutation != "same epoch":
            sender = sender._replace(epoch=sender.epoch + 1)
        hello = ("HELLO", sender.head, sender.last, position, sender.epoch)
        if self.mutation == "forgotten early":
            sender = sender._replace(unsettled=tuple(one for one in sender.unsettled if one[0] != receiver))
        new = sender._replace(**{which: Connection(receiver, False, (hello,), ())})
        stale = state.stale
        if which == "main" and sender.side and self.mutation != "side stays":
            stale = given_up(stale, sender.side)
            new = new._replace(side=None)
        return state._replace(sender=new, stale=stale)

    def heard(self, state):
        sender = state.sender
        for message in sender.main.down[:1]:
            main = sender.main._replace(down=sender.main.down[1:])
            if message[0] == "ACK":
                yield state._replace(sender=sender._replace(main=main, head=max(sender.head, message[1])))
                continue
            receiver, position = sender.main.receiver, message[1]
            sent = sender.head
            mark = sender.sent if self.mutation == "sent is h" else sender.head
            if receiver == sender.last or sender.last is None:
                sent = max(sender.head, position)
                new = moved(sender, receiver, mark)._replace(head=sent)
            elif self.mutation == "send first":
                new = sender._replace(late=(receiver, mark))
            else:
                new = moved(sender, receiver, mark)
            yield state._replace(sender=new._replace(main=main, ready=True, sent=sent))

    @staticmethod
    def broken(state, which):
        stale = given_up(state.stale, getattr(state.sender, which))
        sender = state.sender._replace(**{which: None})
        if which == "main":
            sender = sender._replace(ready=False)
        return state._replace(sender=sender, stale=stale, breaks=state.breaks - 1)

    # The receivers

    @staticmethod
    def cut(receiver, position):
        return receiver._replace(position=min(receiver.position, position),
                                 file=tuple(record for record in receiver.file if record <= position))

    def taken(self, state, connection, put):
        """The first message on its way; `put(state, connection)`: the state with that in its place."""
        for message in connection.up[:1]:
            number = connection.receiver
            receiver = state.receivers[number]
            rest = connection._replace(up=connection.up[1:])
            if message[0] == "HELLO":
                yield self.hello_taken(state, rest, put, message[1:])
            elif not connection.session or message[1] > receiver.position + 1:
                yield put(state, rest)
            else:
                if message[1] == receiver.position + 1:
                    receiver = receiver._replace(position=message[1], file=receiver.file + (message[1],))
                answer = rest._replace(down=rest.down + (("ACK", receiver.position),))
                yield put(self.with_receiver(state, number, receiver), answer)

    def hello_taken(self, state, connection, put, hello):
        acked, last, unsettled, epoch = hello
        number = connection.receiver
        receiver = state.receivers[number]
        if epoch < receiver.epoch:
            return put(state, connection)
        receiver = receiver._replace(epoch=epoch)
        if self.mutation != "no fence" or unsettled is None:
            state = self.sessions_end(state, number)
        if unsettled is not None and self.mutation == "welcome first":
            receiver = receiver._replace(owes=unsettled)
        elif unsettled is not None:
            receiver = self.cut(receiver, unsettled)
        if last != number:
            receiver = receiver._replace(position=max(receiver.position, acked))
        answer = ("WELCOME", receiver.position)
        return put(self.with_receiver(state, number, receiver),
                   connection._replace(session=True, down=connection.down + (answer,)))

    @staticmethod
    def sessions_end(state, number):
        def ended(connection):
            return connection._replace(session=False) if connection and connection.receiver == number else connection

        sender = state.sender
        return state._replace(sender=sender._replace(main=ended(sender.main), side=ended(sender.side)),
                              stale=ordered(map(ended, state.stale)))

    def deaths(self, state):
        """Of the sender: its ring stays. Of a receiver: its file and its position do."""
        sender = state.sender
        stale = state.stale
        for connection in (sender.main, sender.side):
            stale = given_up(stale, connection)
        yield state._replace(sender=sender._replace(main=None, side=None, ready=False, sent=sender.head, late=None),
                             stale=stale, deaths=state.deaths - 1)
        for number, receiver in enumerate(state.receivers):
            dead = self.sessions_end(self.with_receiver(state, number, receiver._replace(owes=None, epoch=0)), number)
            lost = {which: None for which in ("main", "side")
                    if getattr(dead.sender, which) and getattr(dead.sender, which).receiver == number}
            if "main" in lost:
                lost["ready"] = False
            yield dead._replace(sender=dead.sender._replace(**lost), deaths=state.deaths - 1,
                                stale=tuple(one for one in dead.stale if one.receiver != number))


def main():
    status = 0
    for mutation, what in MUTATIONS.items():
        explorer = Explorer(mutation)
        found = None
        try:
            explorer.run()
        except Wrong as wrong:
            found = str(wrong)
        fine = (found is None and explorer.ends > 0) == (mutation == "none")
        print(f"{mutation}: {what}: {len(explorer.seen)} states, {explorer.ends} ends, "
              f"{'found' if found else 'nothing wrong'}{'' if fine else ': NOT as it should be'}", flush=True)
        if not fine:
            print(f"  {found}")
            status = 1
    sys.exit(status)


main()
