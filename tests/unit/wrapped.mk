# SPDX-License-Identifier: MIT
# Functions of which a test has its own, by --wrap of the linker; a line for each test. NAME64 is wrapped, too, see
# tests/unit/wrapped_names.h.
wrapped_by_test_admission      = pthread_create k2i_loop_now_ns
wrapped_by_test_attach         = inotify_init1
wrapped_by_test_client_broken  = k2hft_ring_repair
wrapped_by_test_client_data    = malloc k2i_process_alive
wrapped_by_test_client_exit    = k2i_tls_at_end k2hft_client_stats k2hft_client_drain
wrapped_by_test_client_flood   = k2i_transport_more
wrapped_by_test_client_life    = getaddrinfo
wrapped_by_test_client_retry   = getaddrinfo
wrapped_by_test_collect        = k2i_shared_alloc
wrapped_by_test_directory      = fsync
wrapped_by_test_drain          = k2hft_client_drain k2i_mount_clock_ns k2i_shared_alloc
wrapped_by_test_group          = k2i_output_lock
wrapped_by_test_handles        = k2i_shared_alloc
wrapped_by_test_ledger         = fdatasync fsync
wrapped_by_test_listener       = accept4 event_add k2i_loops_serve
wrapped_by_test_memory         = malloc calloc realloc reallocarray aligned_alloc strdup mmap memfd_create ftruncate epoll_create1 eventfd epoll_ctl pthread_create
wrapped_by_test_memory_limit   = fopen setmntent
wrapped_by_test_outlet         = k2i_regex_match k2i_shared_alloc
wrapped_by_test_outlet_stream  = k2i_shared_alloc
wrapped_by_test_output_cut     = ftruncate writev
wrapped_by_test_output_idle    = close sync_file_range k2i_ledger_file_closed
wrapped_by_test_pattern        = pcre2_compile_8
wrapped_by_test_output_sync    = fdatasync fsync sync sync_file_range syncfs
wrapped_by_test_outputfile     = k2i_shared_alloc write
wrapped_by_test_park           = k2i_shared_alloc
wrapped_by_test_quarantine     = sync syncfs opendir
wrapped_by_test_ring_damage    = k2i_process_alive
wrapped_by_test_ring_making    = fdatasync open pwrite mmap
wrapped_by_test_sender_close   = k2hft_client_drain
wrapped_by_test_session_hold   = pwrite writev
wrapped_by_test_session_synced = fdatasync sync_file_range syncfs
wrapped_by_test_store          = writev clock_gettime __clock_gettime
wrapped_by_test_tls            = opendir send SSL_get0_peer_certificate SSL_version X509_get_ext_d2i
wrapped_by_test_turnstile      = syscall
wrapped_by_test_verify_record  = reallocarray
