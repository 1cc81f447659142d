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
 * the number that the function in C returns. Threads, fork() and contracts are those of the functions in C; link with
 * `pkg-config --libs k2hft`.
 *
 *	k2hft::sender sender("logs.example", "8020");
 *	k2hft::writer writer = sender.open("app/access.log");
 *	writer.write("hello");
 *	sender.flush(10000);
 */
namespace k2hft
{

inline void check(int status)
{
	if (status < 0)
		throw std::system_error(-status, std::generic_category(), "k2hft");
}

/* Writes records of one stream; a single thread at a time. It must be destroyed before its sender. Since 0.1.0. */
class writer
{
public:
	/* k2hft_writer_write, which a signal does not interrupt: nothing was written then. */
	void write(std::string_view record)
	{
		int status;

		do
			status = k2hft_writer_write(handle.get(), record.data(), record.size());
		while (status == -EINTR);
		check(status);
	}

	/* k2hft_writer_lines, until all is taken. */
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

	/* k2hft_writer_lines_end */
	void lines_end()
	{
		check(k2hft_writer_lines_end(handle.get()));
	}

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
 * A ring and a thread that sends it. Its end waits for acknowledgements, for `close_timeout_ms` milliseconds at most (-1:
 * no limit); a program that wants to know whether all was acknowledged calls flush before. Since 0.1.0.
 */
class sender
{
public:
	explicit sender(const k2hft_sender_options &options, int close_timeout_ms = 10000)
	    : handle(open_with(options), {close_timeout_ms})
	{
	}

	sender(const std::string &host, const std::string &port, int close_timeout_ms = 10000)
	    : handle(open_at(host, port), {close_timeout_ms})
	{
	}

	/* Options with all fields as K2HFT_SENDER_OPTIONS_INIT has them. */
	static k2hft_sender_options options() noexcept
	{
		return K2HFT_SENDER_OPTIONS_INIT;
	}

	/* k2hft_writer_open */
	writer open(const std::string &path)
	{
		k2hft_writer *opened = nullptr;

		check(k2hft_writer_open(handle.get(), path.c_str(), &opened));
		return writer(opened);
	}

	/* k2hft_writer_open_binary */
	writer open_binary(const std::string &path)
	{
		k2hft_writer *opened = nullptr;

		check(k2hft_writer_open_binary(handle.get(), path.c_str(), &opened));
		return writer(opened);
	}

	/* k2hft_sender_flush */
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
