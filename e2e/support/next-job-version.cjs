// Loaded before a worker, which then reads what one of the next version can.
require('@hookferry/core/queue/bullmq-event-queue').JOB_VERSION += 1;
