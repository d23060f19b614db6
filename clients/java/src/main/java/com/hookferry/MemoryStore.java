package com.hookferry;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/** Stores ids in the memory of this process. They are lost when it ends, and other processes do not see them. */
public final class MemoryStore implements DedupeStore {
    private final int maxIds;
    private final Duration remembered;
    private final Clock clock;
    private final Map<String, Instant> leases = new HashMap<>();
    private final Map<String, Instant> handled = new LinkedHashMap<>(); // The oldest first.

    /** 10,000 ids at most, for 14 days. */
    public MemoryStore() {
        this(10_000, REMEMBERED, Clock.systemUTC());
    }

    /** @param maxIds the most handled events that are stored; beyond it the oldest is removed */
    public MemoryStore(int maxIds, Duration remembered, Clock clock) {
        this.maxIds = maxIds;
        this.remembered = remembered;
        this.clock = clock;
    }

    @Override
    public synchronized Claim claim(String id, Duration lease) {
        Instant now = clock.instant();
        leases.values().removeIf(endsAt -> !endsAt.isAfter(now));
        for (var oldest = handled.values().iterator(); oldest.hasNext() && !oldest.next().isAfter(now);) oldest.remove();
        if (handled.containsKey(id)) return Claim.DONE;
        return leases.putIfAbsent(id, now.plus(lease)) == null ? Claim.CLAIMED : Claim.BUSY;
    }

    @Override
    public synchronized void commit(String id) {
        leases.remove(id);
        handled.remove(id);
        handled.put(id, clock.instant().plus(remembered));
        while (handled.size() > maxIds) handled.remove(handled.keySet().iterator().next());
    }

    @Override
    public synchronized void release(String id) {
        leases.remove(id);
    }
}
