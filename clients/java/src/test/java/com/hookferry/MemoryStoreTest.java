package com.hookferry;

import static com.hookferry.Tests.same;

import com.hookferry.DedupeStore.Claim;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;

final class MemoryStoreTest {
    private static final Duration LEASE = Duration.ofSeconds(10);

    private static final class Hand extends Clock {
        private Instant now = Instant.EPOCH;

        @Override
        public ZoneId getZone() {
            return ZoneOffset.UTC;
        }

        @Override
        public Clock withZone(ZoneId zone) {
            return this;
        }

        @Override
        public Instant instant() {
            return now;
        }
    }

    static void storesIds() {
        Hand clock = new Hand();
        MemoryStore store = new MemoryStore(2, Duration.ofSeconds(100), clock);
        same(Claim.CLAIMED, store.claim("a", LEASE), "a first claim");
        same(Claim.BUSY, store.claim("a", LEASE), "a second claim");
        store.release("a");
        same(Claim.CLAIMED, store.claim("a", LEASE), "a released one");
        clock.now = clock.now.plusSeconds(10);
        same(Claim.CLAIMED, store.claim("a", LEASE), "one whose lease has ended");
        store.commit("a");
        store.release("a");
        same(Claim.DONE, store.claim("a", LEASE), "a committed one");
        clock.now = clock.now.plusSeconds(100);
        same(Claim.CLAIMED, store.claim("a", LEASE), "one whose time has ended");
        for (String id : List.of("a", "b", "c")) store.commit(id);
        same(Claim.CLAIMED, store.claim("a", LEASE), "the oldest of more than two");
        same(Claim.DONE, store.claim("b", LEASE), "the second");
    }

    static void ofManyThreadsOneGetsTheClaim() throws Exception {
        MemoryStore store = new MemoryStore();
        var threads = Executors.newFixedThreadPool(8);
        Callable<Claim> claim = () -> store.claim("a", LEASE);
        int claimed = 0;
        for (var each : threads.invokeAll(java.util.Collections.nCopies(64, claim))) {
            if (each.get() == Claim.CLAIMED) claimed++;
        }
        threads.shutdown();
        same(1, claimed, "the claims");
    }
}
