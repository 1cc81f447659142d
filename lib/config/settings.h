/* SPDX-License-Identifier: MIT */
#ifndef K2I_CONFIG_SETTINGS_H
#define K2I_CONFIG_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <k2hft/sender.h>

/*
 * The settings of a configuration file, typed. settings.def is the one table of all keys: name, section, type, unit,
 * range, default, effect and help; the reader, `k2hft check`, the completions and k2hft.conf(5) are made from it.
 */

enum k2i_section {
	K2I_SECTION_GLOBAL,
	K2I_SECTION_SVRNODE,
	K2I_SECTION_SLVNODE,
	K2I_SECTION_K2HTPDTOR,
	K2I_SECTION_K2HFTFUSE,
	K2I_SECTION_K2HFTFUSE_RULE,
	K2I_SECTION_K2HFTFUSE_RULE_DIR,
	K2I_SECTION_K2HFTFUSESVR,
	K2I_SECTION_COUNT
};

#define K2I_REPLICA_ALL 255u                          /* REPLICA of a file that does not say it */
#define K2I_QUARANTINE_BYTES_MIN (UINT64_C(32) << 20) /* of QUARANTINEMAX */

enum k2i_queue_type { K2I_QUEUE_MEMORY, K2I_QUEUE_TEMPORARY, K2I_QUEUE_FILE };
enum k2i_write_mode { K2I_WRITE_MODE_UNSET, K2I_WRITE_MODE_AUTO, K2I_WRITE_MODE_CACHED, K2I_WRITE_MODE_DIRECT };
enum k2i_file_sync { K2I_FILE_SYNC_NONE, K2I_FILE_SYNC_INTERVAL, K2I_FILE_SYNC_ALWAYS };
enum k2i_rotate_compress { K2I_ROTATE_COMPRESS_NONE, K2I_ROTATE_COMPRESS_GZIP, K2I_ROTATE_COMPRESS_ZSTD };
enum k2i_store_mode { K2I_STORE_BUFFERED, K2I_STORE_DSYNC, K2I_STORE_SYNC }; /* OPENMODE */
enum k2i_store_cache { K2I_STORE_DROP, K2I_STORE_KEEP };                     /* CACHE */
/* TYPE: the bits of its sinks. */
enum k2i_output {
	K2I_OUTPUT_FILE = 1,
	K2I_OUTPUT_RELAY = 2,
	K2I_OUTPUT_KAFKA = 4,
	K2I_OUTPUT_FORWARD = 8,
	K2I_OUTPUT_OTLP = 16
};
enum k2i_kafka_batch { K2I_KAFKA_RECORD, K2I_KAFKA_CHUNK }; /* KAFKA_BATCH */
enum k2i_ssl { K2I_SSL_UNSET, K2I_SSL_NO, K2I_SSL_YES };

/*
 * The TLS keys of GLOBAL or of a SVRNODE: NULL it has none, "null" no file. k2i_settings_tls puts both together.
 */
struct k2i_tls_keys {
	enum k2i_ssl verify_peer;                      /* SSL_VERIFY_PEER */
	char *authority;                               /* CAPATH */
	char *server_certificate, *server_private_key; /* SERVER_CERT, SERVER_PRIKEY */
	char *sender_certificate, *sender_private_key; /* SLAVE_CERT, SLAVE_PRIKEY */
	char *shared_key;                              /* PSKFILE */
};

struct k2i_place {
	const char *file; /* NULL: not said */
	unsigned line;
};

struct k2i_node { /* SVRNODE */
	char *name;
	char *key;             /* CUK */
	unsigned port;         /* 0: GLOBAL's */
	unsigned control_port; /* CTLPORT; 0: GLOBAL's */
	enum k2i_ssl ssl;
	struct k2i_tls_keys tls;
	struct k2i_place place; /* of the section's header, as below; in settings->file, or one that it includes */
};

struct k2i_sender_node {         /* SLVNODE */
	char *name;              /* who may connect: see hosts.h */
	struct k2i_tls_keys tls; /* a sender's own */
	struct k2i_place place;
};

struct k2i_pattern { /* one ALLOW or DENY, as written, with its quotes: parsed by rules.c */
	char *text;
	struct k2i_place place;
};

struct k2i_rule { /* K2HFTFUSE_RULE, K2HFTFUSE_RULE_DIR */
	bool directory;
	char *target;          /* without leading and trailing slashes; "" with directory: the whole mount */
	bool transfer;         /* TRUNS */
	char *output_file;     /* OUTPUTFILE; NULL: none (also /dev/null) */
	char *plugin;          /* PLUGIN: the command; NULL: none */
	bool plugin_transfers; /* PLUGINTRANS */
	bool default_allow;
	enum k2i_write_mode write_mode; /* WRITEMODE; unset: that of K2HFTFUSE */
	struct k2i_pattern *allow, *deny;
	size_t allow_count, deny_count;
	struct k2i_place place;
};

struct k2i_relay_settings { /* of K2HFTFUSESVR, for the next stage */
	enum k2i_queue_type queue_type;
	char *queue_file;
	bool queue_fresh;
	uint64_t ring_bytes;
	bool end_acknowledges; /* ACKEND */
	uint64_t copies, failover_s;
};

struct k2i_settings {
	char *file; /* path that it was read from */
	char **included;
	size_t included_count;
	/* GLOBAL */
	unsigned port;
	unsigned control_port; /* CTLPORT; 0: none */
	enum k2i_ssl ssl;
	struct k2i_tls_keys tls;
	uint32_t tls_version_min;   /* SSL_MIN_VER: K2HFT_TLS_* */
	unsigned loop_count;        /* SOCKTHREADCNT; 0: by the machine */
	unsigned self_control_port; /* SELFCTLPORT, SELFCUK: which SVRNODE a receiver is */
	char *self_key;
	char *nodes_file; /* K2HTPDTOR_CHMPXCONF: where GLOBAL, SVRNODE and SLVNODE of a sender are */
	struct k2i_node *servers;
	size_t server_count;
	size_t own_server; /* the SVRNODE that the receiver is */
	unsigned spread;   /* DELIVERMODE: K2HFT_SPREAD_* */
	uint64_t replica;  /* REPLICA */
	struct k2i_sender_node *senders;
	size_t sender_count;
	/* K2HTPDTOR */
	bool broadcast; /* K2HTPDTOR_BROADCAST */
	char **except;  /* K2HTPDTOR_EXCEPT_KEY: streams whose names begin so are not sent */
	size_t except_count;
	char *archive_file; /* K2HTPDTOR_FILE */
	/* K2HFTFUSE */
	bool fuse_present;
	uint64_t copies;                /* COPIES */
	uint64_t failover_s;            /* FAILOVERTIME */
	enum k2i_queue_type queue_type; /* K2HTYPE */
	char *queue_file;               /* K2HFILE */
	bool queue_fresh;               /* K2HINIT */
	uint64_t ring_bytes;            /* RINGSIZE */
	uint32_t full;                  /* RINGFULL: K2HFT_FULL_* */
	enum k2i_write_mode write_mode; /* WRITEMODE of K2HFTFUSE */
	unsigned copy_mode;             /* FILE_MODE of K2HFTFUSE */
	uint64_t flush_ms;              /* FLUSHMS */
	bool binary;                    /* BINTRANS of K2HFTFUSE */
	uint64_t batch_records_max;     /* TRANSLINECNT */
	uint64_t record_bytes_limit;    /* BYTELIMIT: longer records are not sent; 0: none */
	uint64_t record_bytes_max;      /* LINEMAX: longer records go in pieces */
	uint64_t held_bytes_max;        /* HELDMAX: memory for beginnings of records */
	uint64_t expire_s;              /* EXPIRE */
	uint32_t compress;              /* COMPRESS: K2HFT_COMPRESS_* */
	uint64_t drain_timeout_s;       /* DRAINTIMEOUT */
	bool reloads_itself;            /* RELOAD = auto */
	struct k2i_rule *rules;
	size_t rule_count;
	/* K2HFTFUSESVR */
	bool receiver_present;
	char *next_stage; /* TRANSCONF */
	struct k2i_relay_settings relay;
	unsigned outputs;                         /* TYPE: K2I_OUTPUT_*; 0: it is wrong */
	char *base_directory;                     /* FILE_BASEDIR */
	char *unify_file;                         /* FILE_UNIFY, strftime directives in it; NULL: a file per stream */
	unsigned file_mode;                       /* FILE_MODE */
	char *time_format;                        /* FILE_TIMEFORM */
	char *format;                             /* FORMAT */
	char *plugin;                             /* PLUGIN: the command; NULL: none */
	uint64_t rotate_bytes;                    /* ROTATE_SIZE; 0: by no size */
	char *rotate_time;                        /* ROTATE_TIME, for k2i_period_parse; NULL: at no time */
	char *rotate_keep;                        /* ROTATE_KEEP, for k2i_keep_parse; NULL: all */
	enum k2i_rotate_compress rotate_compress; /* ROTATE_COMPRESS */
	char *post_rotate;                        /* POSTROTATE: the command; NULL: none */
	char *listen_address;                     /* LISTEN: host name or address; NULL: the receiver chooses */
	char *control_address;                    /* CTLADDRESS; NULL: loopback */
	char *run_user, *run_group;    /* USER, GROUP: whom the receiver becomes when root starts it; NULL: it stays */
	char *state_directory;         /* STATEDIR: where the ledger is; NULL: FILE_BASEDIR/.k2hft */
	uint64_t connections_max;      /* CONNMAX */
	uint64_t host_connections_max; /* CONNMAXHOST; 0: no limit but CONNMAX */
	uint64_t streams_max;          /* STREAMMAX */
	uint64_t buffer_bytes;         /* BUFFERMAX */
	uint64_t write_bytes;          /* WRITEBUF */
	enum k2i_store_mode open_mode; /* OPENMODE */
	enum k2i_store_cache cache;    /* CACHE */
	enum k2i_file_sync file_sync;  /* FILE_SYNC */
	uint64_t file_sync_ms;         /* FILE_SYNC_MS */
	uint64_t quarantine_bytes;     /* QUARANTINEMAX */
	uint64_t window_bytes;         /* WINDOW */
	uint64_t frame_bytes_max;      /* FRAMEMAX */
	char *forward_server;          /* FORWARD_SERVER; NULL: none */
	char *forward_tag;             /* FORWARD_TAG */
	bool forward_compress;         /* FORWARD_COMPRESS = gzip */
	bool forward_tls;              /* FORWARD_TLS */
	char *forward_authority;       /* FORWARD_CA, as the files below "null": none */
	char *forward_key_file;        /* FORWARD_SHARED_KEY_FILE */
	char *forward_user;            /* FORWARD_USERNAME */
	char *forward_password_file;   /* FORWARD_PASSWORD_FILE */
	uint64_t forward_ack_timeout_ms; /* FORWARD_ACK_TIMEOUT_MS */
	char *otlp_endpoint;             /* OTLP_ENDPOINT */
	char *otlp_headers;              /* OTLP_HEADERS: NAME=VALUE, commas between them; NULL: none */
	char *otlp_headers_file;         /* OTLP_HEADERS_FILE: such a header in each line; NULL: none */
	char *otlp_authority;            /* OTLP_CA; NULL: the system's */
	char *otlp_certificate;          /* OTLP_CERT; NULL: none */
	char *otlp_private_key;          /* OTLP_KEY */
	uint64_t otlp_timeout_ms;        /* OTLP_TIMEOUT_MS */
	bool otlp_gzip;                  /* OTLP_COMPRESS */
	char *kafka_brokers;             /* KAFKA_BROKERS */
	char *kafka_topic, *kafka_key;   /* KAFKA_TOPIC, KAFKA_KEY: formats */
	enum k2i_kafka_batch kafka_batch;
	uint64_t kafka_commit_ms;    /* KAFKA_COMMITMS */
	char *kafka_positions_topic; /* KAFKA_POSITIONS_TOPIC */
	char *kafka_options;         /* KAFKA.NAME = VALUE: a line NAME=VALUE each; NULL: none */
	struct k2i_places *places;   /* where the file says what; NULL: it is no file's */
};

/*
 * Reads and checks a file completely. 0, or -errno with one line "FILE:LINE: what is wrong; what to do" in `message`
 * (the first error; `report` below gives all). Form by the name: .yaml, .yml and .json are read as YAML, everything else
 * as INI; what begins with { is no name but JSON itself, and its FILE is "(JSON)".
 */
int k2i_settings_load(const char *file, struct k2i_settings **settings, char *message, size_t message_room);
/* The same for a start: warnings are logged. */
int k2i_settings_load_logged(const char *file, struct k2i_settings **settings, char *message, size_t message_room);
void k2i_settings_free(struct k2i_settings *settings);
/* "FILE:LINE" of a key of GLOBAL, K2HFTFUSE or K2HFTFUSESVR, or "FILE" if it is not said. */
const char *k2i_settings_place(const struct k2i_settings *settings, enum k2i_section section, const char *key,
			       char *text, size_t room);

/*
 * The SVRNODE that applies: `server` that of the receiver itself, else the one that a sender sends to; one that says
 * nothing, if there is none. And what it and GLOBAL say together, 0: nothing.
 */
const struct k2i_node *k2i_settings_node(const struct k2i_settings *settings, bool server);
enum k2i_ssl k2i_settings_ssl(const struct k2i_settings *settings, bool server);
unsigned k2i_settings_port(const struct k2i_settings *settings, bool server);
unsigned k2i_settings_control_port(const struct k2i_settings *settings);
/* Whether TLS is used, and with which files. The paths are those of `settings`. */
struct k2i_tls_settings;
bool k2i_settings_tls(const struct k2i_settings *settings, bool server, struct k2i_tls_settings *tls);
/* The same of any SVRNODE, for a sender that has several. */
unsigned k2i_node_port(const struct k2i_settings *settings, const struct k2i_node *node);
bool k2i_node_tls(const struct k2i_settings *settings, const struct k2i_node *node, bool server,
		  struct k2i_tls_settings *tls);
/*
 * K2HFILE or a sender's file of TLS that is below `mount_point`, wherever symbolic links lead: the mount would wait for
 * itself. NULL: none is. `mount_point` has no links.
 */
#define K2I_BELOW_TEXT "%s is below the mount point: the mount would wait for itself; name a file elsewhere"
const char *k2i_settings_below(const struct k2i_settings *settings, const char *mount_point);

/* Whether the receiver's state ends with it: it only relays, from memory, and nothing says where its state can stay. */
bool k2i_settings_state_ends(const struct k2i_settings *settings);

/* Called for each finding of a file: errors, keys that are accepted without effect, and what is unwise. */
#define K2I_MOUNT_LANES_MAX 64u /* receivers of a mount, and rules with PLUGIN, together */

enum k2i_finding { K2I_FINDING_ERROR, K2I_FINDING_WITHOUT_EFFECT, K2I_FINDING_WARNING };
typedef void k2i_settings_report(void *argument, enum k2i_finding finding, const char *file, unsigned line,
				 const char *text);
/*
 * As load, with every finding reported. Returns the number of errors, or -errno if the file can't be read. `*settings`
 * is there (to be freed) unless the return is negative: with errors it holds what could be read.
 */
int k2i_settings_check(const char *file, k2i_settings_report *report, void *argument, struct k2i_settings **settings);

enum k2i_reloads { K2I_RELOADS_MOUNT, K2I_RELOADS_RECEIVER, K2I_RELOADS_RELAY };
/*
 * Names the keys that differ between two files and need a restart of who reloads, in one line, with the place of the first in
 * `after`; K2I_RELOADS_RELAY: of TRANSCONF. Returns how many.
 */
size_t k2i_settings_restart(const struct k2i_settings *before, const struct k2i_settings *after,
			    enum k2i_reloads reloads, char *names, size_t names_room, char *place, size_t place_room);

/* The effective values as an INI file, each with its unit and default in a comment. -EIO. */
int k2i_settings_print(const struct k2i_settings *settings, FILE *output);

/* The table itself as tab-separated lines (section, key, type, unit, minimum, maximum, default, effect, help). */
int k2i_settings_table_print(FILE *output);

#endif
