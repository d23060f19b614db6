/* Preloaded into Redis: writes down how long each file was when it was last synced to disk, so that a test can undo all
 * that a power cut would take. A line each: inode, bytes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int log_file(void) {
  static int file = -1;
  const char *path = getenv("FAULTS_SYNC_LOG");
  if (file == -1 && path) file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  return file;
}

/* Asked for before the sync: what is appended while it is under way may not be part of it. */
static int synced(int (*sync)(int), int fd) {
  struct stat before;
  int known = fstat(fd, &before) == 0;
  int result = sync(fd);
  if (result == 0 && known) dprintf(log_file(), "%lu %lld\n", (unsigned long)before.st_ino, (long long)before.st_size);
  return result;
}

int fdatasync(int fd) { return synced((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"), fd); }

int fsync(int fd) { return synced((int (*)(int))dlsym(RTLD_NEXT, "fsync"), fd); }
