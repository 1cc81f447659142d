/* SPDX-License-Identifier: MIT */
#ifndef K2HFT_HPP
#define K2HFT_HPP

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <k2hft/sender.h>

/*
 * The interface of <k2hft/sender.h> for C++17: objects that close what they opened, and errors as std::system_error with
 * the number that the function in C returns. Threads, fork() and contracts are those of the functions in C, whose pages say
 * which numbers there are; link with `pkg-config --libs k2hft`.
 *
 *	k2hft_sender_options options = k2hft::sender::options();
 *	options.host = "logs.example";
 *	options.port = "8020";
 *	options.ring_path = "/var/lib/app/ring";
 *	k2hft::sender sender(options);
 *	k2hft::writer writer = sender.open("app/access.log");
 *	writer.write("hello");
 *	sender.flush(10000);
 *
 * Objects can be moved, not copied; one that was moved from can only be destroyed or assigned to. Destructors throw nothing.
 */
namespace k2hft
{

/* Throws if a function in C has returned an error, as of those that get() is for. */
inline void check(int status)
{
	if (status < 0)
		throw std::system_error(-status, std::generic_category(), "k2hft");
}

/* Writes records of one stream; a single thread at a time. It must be destroyed before its sender. Since 0.1.0. */
class writer
{
public:
	/* k2hft_writer_write: a line without its line end, or a block. A signal does not interrupt it. */
	void write(std::string_view record)
	{
		int status;

		do
			status = k2hft_writer_write(handle.get(), record.data(), record.size());
		while (status == -EINTR);
		check(status);
	}

	/*
	 * k2hft_writer_lines, until all is taken, whatever signals come. A text of up to 256 KiB (less for a ring under 8 MiB) of
	 * which it throws EAGAIN can be given again as a whole; of a longer one a part may have been taken.
	 */
	void lines(std::string_view text)
	{
		while (!text.empty()) {
			std::size_t taken = 0;
			int status = k2hft_writer_lines(handle.get(), text.data(), text.size(), &taken);

			text.remove_prefix(taken);
			if (status != -EINTR)
				check(status);
		}
	}

	/* k2hft_writer_lines_end: what waits behind the last line end is a record. */
	void lines_end()
	{
		check(k2hft_writer_lines_end(handle.get()));
	}

	/* For functions in C. It belongs to this object. */
	k2hft_writer *get() const noexcept
	{
		return handle.get();
	}

private:
	friend class sender;

	explicit writer(k2hft_writer *opened) : handle(opened)
	{
	}

	struct close {
		void operator()(k2hft_writer *closed) const noexcept
		{
			k2hft_writer_close(closed);
		}
	};
	std::unique_ptr<k2hft_writer, close> handle;
};

/*
 * A ring and a thread that sends it; any thread may use it. Its end waits for acknowledgements, for `close_timeout_ms`
 * milliseconds at most (-1: no limit); a program that wants to know whether all was acknowledged calls flush before.
 * Since 0.1.0.
 */
class sender
{
public:
	/* k2hft_sender_open; the options, and their strings, need not outlive the call. */
	explicit sender(const k2hft_sender_options &options, int close_timeout_ms = 10000)
	    : handle(open_with(options), {close_timeout_ms})
	{
	}

	sender(const std::string &host, const std::string &port, int close_timeout_ms = 10000)
	    : handle(open_at(host, port), {close_timeout_ms})
	{
	}

	/* Takes over what k2hft_sender_open_config, or another function in C, has opened. */
	explicit sender(k2hft_sender *opened, int close_timeout_ms = 10000) noexcept : handle(opened, {close_timeout_ms})
	{
	}

	/* k2hft_sender_attach: the ring of another process, such as .k2hft-ring in the root of a mount. */
	static sender attach(const std::string &ring_path, int close_timeout_ms = 10000)
	{
		k2hft_sender *opened = nullptr;

		check(k2hft_sender_attach(ring_path.c_str(), &opened));
		return sender(opened, close_timeout_ms);
	}

	/* Options with all fields as K2HFT_SENDER_OPTIONS_INIT has them. */
	static k2hft_sender_options options() noexcept
	{
		return K2HFT_SENDER_OPTIONS_INIT;
	}

	/* k2hft_writer_open: a writer of lines. The path has no slash at its begin. */
	writer open(const std::string &path)
	{
		k2hft_writer *opened = nullptr;

		check(k2hft_writer_open(handle.get(), path.c_str(), &opened));
		return writer(opened);
	}

	/* k2hft_writer_open_binary: each write is a record. */
	writer open_binary(const std::string &path)
	{
		k2hft_writer *opened = nullptr;

		check(k2hft_writer_open_binary(handle.get(), path.c_str(), &opened));
		return writer(opened);
	}

	/* k2hft_sender_flush: until all is acknowledged; ETIMEDOUT. */
	void flush(int timeout_ms = -1)
	{
		check(k2hft_sender_flush(handle.get(), timeout_ms));
	}

	/* k2hft_sender_stats */
	struct k2hft_sender_stats stats() const
	{
		struct k2hft_sender_stats counted = K2HFT_SENDER_STATS_INIT;

		check(::k2hft_sender_stats(handle.get(), &counted));
		return counted;
	}

	/* For functions in C, as k2hft_sender_client. It belongs to this object. */
	k2hft_sender *get() const noexcept
	{
		return handle.get();
	}

private:
	static k2hft_sender *open_with(const k2hft_sender_options &options)
	{
		k2hft_sender *opened = nullptr;

		check(k2hft_sender_open(&options, &opened));
		return opened;
	}

	static k2hft_sender *open_at(const std::string &host, const std::string &port)
	{
		k2hft_sender_options options = K2HFT_SENDER_OPTIONS_INIT;

		options.host = host.c_str();
		options.port = port.c_str();
		return open_with(options);
	}

	struct close {
		int timeout_ms;

		void operator()(k2hft_sender *closed) const noexcept
		{
			(void)k2hft_sender_close(closed, timeout_ms);
		}
	};
	std::unique_ptr<k2hft_sender, close> handle;
};

} // namespace k2hft

#endif
