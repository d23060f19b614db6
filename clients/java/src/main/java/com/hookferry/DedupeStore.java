package com.hookferry;

import java.time.Duration;

/**
 * Stores the ids of handled events. An id is claimed, and then committed or released. A claim that is neither ends with its
 * lease. The methods may throw anything: then the event is not handled, and the service sends it again.
 */
public interface DedupeStore {
    /** How long stores keep the id of a handled event: 14 days, the service's default RETENTION. */
    Duration REMEMBERED = Duration.ofDays(14);

    /** The state of an id. */
    enum Claim {
        /** Handle the event now. */
        CLAIMED,
        /** Another one handles it. */
        BUSY,
        /** It was handled. */
        DONE
    }

    /** Atomic: of concurrent claims, one gets CLAIMED. */
    Claim claim(String id, Duration lease) throws Exception;

    /** The event was handled. */
    void commit(String id) throws Exception;

    /** The event was not handled, and may be claimed again. A committed id stays committed. */
    void release(String id) throws Exception;
}
