# SPDX-License-Identifier: MIT
"""Sends records to other machines through libk2hft: they arrive in order, exactly as written, and once.

    import logging, k2hft
    logging.getLogger().addHandler(k2hft.Handler("logs.example:8020", "app/app.log"))
    logging.warning("hello")

The system's library libk2hft.so.0 is used, see libk2hft(7). Errors are OSError with the number that the library returned.
"""
import atexit
import ctypes
import errno
import logging
import os
import threading

__all__ = ["Handler", "Sender", "Writer", "receiver_split"]

FULL = {"block": 0, "fail": 1, "drop": 2}
LEVEL = {"received": 1, "written": 2, "synced": 3}
COMPRESS = {"auto": 0, "never": 1, "always": 2}
SPREAD = {"hash": 0, "random": 1, "all": 2}
PORT_DEFAULT = "8020"


class _Tls(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("authority_path", ctypes.c_char_p), ("certificate_path", ctypes.c_char_p),
                ("private_key_path", ctypes.c_char_p), ("shared_key_path", ctypes.c_char_p),
                ("version_min", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class _Target(ctypes.Structure):
    _fields_ = [("host", ctypes.c_char_p), ("port", ctypes.c_char_p), ("tls", ctypes.POINTER(_Tls))]


class _Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("host", ctypes.c_char_p), ("port", ctypes.c_char_p),
                ("host_name", ctypes.c_char_p), ("ring_path", ctypes.c_char_p), ("ring_bytes", ctypes.c_uint64),
                ("ring_flags", ctypes.c_uint32), ("full", ctypes.c_uint32), ("level", ctypes.c_uint32),
                ("compress", ctypes.c_uint32), ("batch_records_max", ctypes.c_uint64), ("expire_s", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32), ("tls", ctypes.POINTER(_Tls)), ("targets", ctypes.POINTER(_Target)),
                ("target_count", ctypes.c_uint32), ("spread", ctypes.c_uint32), ("copies", ctypes.c_uint32),
                ("replica", ctypes.c_uint32), ("failover_ms", ctypes.c_uint32), ("except_count", ctypes.c_uint32),
                ("except", ctypes.POINTER(ctypes.c_char_p)), ("archive_path", ctypes.c_char_p)]


class _Stats(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_uint64) for name in (
        "written_records", "written_bytes", "dropped_records", "unacked_records", "refused_writes", "pieces",
        "excepted_records")]


def _functions_declare(library):
    pointer, text = ctypes.c_void_p, ctypes.c_char_p
    for name, arguments in {
            "k2hft_sender_open": [ctypes.POINTER(_Options), ctypes.POINTER(pointer)],
            "k2hft_sender_attach": [text, ctypes.POINTER(pointer)],
            "k2hft_sender_close": [pointer, ctypes.c_int],
            "k2hft_sender_flush": [pointer, ctypes.c_int],
            "k2hft_sender_stats": [pointer, ctypes.POINTER(_Stats)],
            "k2hft_writer_open": [pointer, text, ctypes.POINTER(pointer)],
            "k2hft_writer_open_binary": [pointer, text, ctypes.POINTER(pointer)],
            "k2hft_writer_write": [pointer, text, ctypes.c_size_t],
            "k2hft_writer_lines": [pointer, text, ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t)],
            "k2hft_writer_lines_end": [pointer]}.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, ctypes.c_int
    library.k2hft_writer_close.argtypes, library.k2hft_writer_close.restype = [pointer], None
    return library


_library = _functions_declare(ctypes.CDLL("libk2hft.so.0"))


def _check(status):
    if status < 0:
        raise OSError(-status, os.strerror(-status))
    return status


def _bytes(value):
    return value if value is None or isinstance(value, bytes) else os.fsencode(value)


def _word(words, word, name):
    if word not in words:
        raise ValueError(f"{name} = {word!r}: one of {', '.join(words)} is needed")
    return words[word]


def _timeout_ms(timeout):
    return -1 if timeout is None else min(int(timeout * 1000), 2 ** 31 - 1)


def receiver_split(receiver):
    """HOST, HOST:PORT, [ADDRESS] or [ADDRESS]:PORT as host and port, of which 8020 is the default."""
    if receiver.startswith("["):
        host, closed, port = receiver[1:].partition("]")
        if not closed or not (port == "" or port.startswith(":")):
            raise ValueError(f"{receiver!r}: HOST or HOST:PORT is needed")
        return host, port[1:] or PORT_DEFAULT
    if receiver.count(":") > 1:
        return receiver, PORT_DEFAULT
    host, _, port = receiver.partition(":")
    return host, port or PORT_DEFAULT


class Sender:
    """A ring and a thread that sends it to a receiver, or to several. Any thread may use it; a child of fork() must not.

    receivers: "HOST:PORT", or a list of them. ring_path: a file that keeps what is not acknowledged beyond the process's
    end; None: memory. full: what a write does when the ring is full. tls: a dictionary with authority_path,
    certificate_path, private_key_path, shared_key_path or version_min (0: TLS 1.2, 1: TLS 1.3), as in k2hft_client_open(3);
    {} is TLS with the system's certificates, None no encryption. except_names: streams whose names begin with one of them
    are not sent. archive_path: a file that gets each record before it is sent. The rest is as in k2hft_sender_open(3).
    """

    def __init__(self, receivers, *, ring_path=None, ring_bytes=0, full="block", level="written", compress="auto",
                 host_name=None, expire_s=0, tls=None, spread="hash", copies=0, replica=0, failover_ms=0,
                 except_names=(), archive_path=None):
        names = [receivers] if isinstance(receivers, str) else list(receivers)
        tls_options = None
        if tls is not None:
            tls_options = _Tls(size=ctypes.sizeof(_Tls), **{
                name: value if name == "version_min" else _bytes(value) for name, value in tls.items()})
        tls_pointer = ctypes.pointer(tls_options) if tls_options else None
        targets = (_Target * len(names))(*[
            _Target(*(part.encode() for part in receiver_split(name)), tls_pointer) for name in names])
        options = _Options(size=ctypes.sizeof(_Options), host_name=_bytes(host_name), ring_path=_bytes(ring_path),
                           ring_bytes=ring_bytes, full=_word(FULL, full, "full"), level=_word(LEVEL, level, "level"),
                           compress=_word(COMPRESS, compress, "compress"), expire_s=expire_s,
                           spread=_word(SPREAD, spread, "spread"), copies=copies, replica=replica,
                           failover_ms=failover_ms, except_count=len(except_names),
                           archive_path=_bytes(archive_path))
        setattr(options, "except", (ctypes.c_char_p * len(except_names))(*map(_bytes, except_names)))
        if len(names) == 1:
            options.host, options.port, options.tls = targets[0].host, targets[0].port, tls_pointer
        else:
            options.targets, options.target_count = targets, len(names)
        self._open(lambda sender: _library.k2hft_sender_open(ctypes.byref(options), sender))

    @classmethod
    def attach(cls, ring_path):
        """A sender whose ring another process sends: the ring's file, or .k2hft-ring in the root of a mount."""
        sender = cls.__new__(cls)
        sender._open(lambda pointer: _library.k2hft_sender_attach(_bytes(ring_path), pointer))
        return sender

    def _open(self, function):
        self._pointer, self._pid, self._writers = None, os.getpid(), set()
        pointer = ctypes.c_void_p()
        _check(function(ctypes.byref(pointer)))
        self._pointer = pointer

    def _use(self):
        if self._pid != os.getpid():
            raise OSError(errno.EINVAL, "a child of fork() needs a sender of its own")
        if self._pointer is None:
            raise ValueError("the sender is closed")
        return self._pointer

    def writer(self, path, binary=False):
        """A writer of the stream `path`: of lines, or of binary blocks."""
        return Writer(self, path, binary)

    def flush(self, timeout=None):
        """Waits, at most `timeout` seconds, until everything that was written is acknowledged."""
        _check(_library.k2hft_sender_flush(self._use(), _timeout_ms(timeout)))

    def stats(self):
        """Counters by name, as k2hft_sender_stats(3) explains them."""
        stats = _Stats(size=ctypes.sizeof(_Stats))
        _check(_library.k2hft_sender_stats(self._use(), ctypes.byref(stats)))
        return {name: getattr(stats, name) for name, _ in _Stats._fields_ if name != "size"}

    def close(self, timeout=10):
        """Closes the writers, waits as flush() does, and ends the sender, also when it raises an error."""
        if self._pointer is None or self._pid != os.getpid():
            return
        for writer in list(self._writers):
            writer.close()
        pointer, self._pointer = self._pointer, None
        _check(_library.k2hft_sender_close(pointer, _timeout_ms(timeout)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Writer:
    """Writes records of one stream. Any thread may use it: calls exclude each other."""

    def __init__(self, sender, path, binary=False):
        self._sender, self._lock, self._pointer, self._binary = sender, threading.Lock(), None, binary
        pointer = ctypes.c_void_p()
        function = _library.k2hft_writer_open_binary if binary else _library.k2hft_writer_open
        _check(function(sender._use(), _bytes(path), ctypes.byref(pointer)))
        self._pointer = pointer
        sender._writers.add(self)

    def _call(self, function, *arguments):
        self._sender._use()
        with self._lock:
            if self._pointer is None:
                raise ValueError("the writer is closed")
            return _check(function(self._pointer, *arguments))

    def write(self, record):
        """Takes one record: a line without its line end, or a binary block. A text is encoded as UTF-8."""
        data = record.encode("utf-8", "surrogateescape") if isinstance(record, str) else bytes(record)
        if not self._binary and b"\n" in data:
            raise OSError(errno.EINVAL, "a record is a line without its line end; lines() takes text that has them")
        while True:
            try:
                self._call(_library.k2hft_writer_write, data, len(data))
                return
            except InterruptedError:
                continue  # nothing of it was written, and the signal's handler has run

    def lines(self, text):
        """Takes the next part of a text, cut anywhere: its lines are the records."""
        data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)
        taken, start = ctypes.c_size_t(), 0
        while start < len(data):
            try:
                self._call(_library.k2hft_writer_lines, data[start:], len(data) - start, ctypes.byref(taken))
                return
            except InterruptedError:
                # What was taken is not given again: the handler of the signal has run, and the write goes on.
                start += taken.value

    def close(self):
        """Sends what waits behind the last line end, too."""
        with self._lock:
            pointer, self._pointer = self._pointer, None
            if pointer is not None and self._sender._pid == os.getpid():
                _library.k2hft_writer_close(pointer)
        self._sender._writers.discard(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Handler(logging.Handler):
    """Sends what is logged; each line of a message, as of a traceback, is a record.

    receivers and the named arguments are those of Sender; path is the stream. A child of fork(), as of multiprocessing,
    opens a sender of its own when it logs; with a ring_path it needs another one, so that keeps records in memory there.
    """

    def __init__(self, receivers, path, *, timeout=10, **options):
        super().__init__()
        self._receivers, self._path, self._options, self._timeout = receivers, path, options, timeout
        self._sender_open()
        atexit.register(self.close)

    def _sender_open(self):
        self._sender = Sender(self._receivers, **self._options)
        self._writer, self._pid = self._sender.writer(self._path), os.getpid()

    def emit(self, record):
        try:
            if self._pid != os.getpid():
                self._options = {**self._options, "ring_path": None}
                self._sender_open()
            self._writer.lines(self.format(record) + "\n")
        except Exception:  # as each handler of logging does: the program goes on
            self.handleError(record)

    def flush(self):
        """Does nothing: records are sent at once, and to wait for their acknowledgement is Sender.flush()."""

    def close(self):
        """Waits, at most `timeout` seconds, until all is acknowledged. Called at the program's end, too."""
        atexit.unregister(self.close)
        if self._pid == os.getpid():
            try:
                self._sender.close(self._timeout)
            except OSError as error:
                logging.lastResort.stream.write(f"k2hft: not everything that was logged is acknowledged: {error}\n")
        super().close()
