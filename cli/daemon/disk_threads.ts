/**
 * The variable with which a daemon starts, so that eight agents wait for the disk at once: for their
 * files, their folders and the log. The runtimes read it before any code of gate runs. By default Bun
 * has one thread for each processor: on a slow disk the agents would then wait for each other.
 */
export const DISK_THREADS = { UV_THREADPOOL_SIZE: "16" };
