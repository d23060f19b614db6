# frozen_string_literal: true

module Hookferry
  # Stores ids of handled events in the memory of this process. They are lost when it ends, and other processes do not see
  # them. Threads may share one.
  #
  # A store of your own has the same three methods. An id is claimed, and then committed or released. A claim that is neither
  # ends with its lease.
  class MemoryStore
    # 14 days, the service's default RETENTION.
    TTL_SECONDS = 1_209_600

    # max_ids: the most handled events that are stored. Beyond it the oldest is removed.
    # clock: gives the present in seconds.
    def initialize(max_ids: 10_000, ttl_seconds: TTL_SECONDS, clock: -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) })
      @max_ids = max_ids
      @ttl_seconds = ttl_seconds
      @clock = clock
      @lock = Mutex.new
      @leases = {}
      @handled = {} # The oldest first.
    end

    # Atomic: of concurrent claims, one gets :claimed.
    # @return :claimed (handle the event now), :busy (another one handles it), :done (it was handled)
    def claim(id, lease_seconds)
      @lock.synchronize do
        now = @clock.call
        @leases.delete_if { |_, ends_at| ends_at <= now }
        @handled.delete(@handled.first[0]) while @handled.any? && @handled.first[1] <= now
        next :done if @handled.key?(id)
        next :busy if @leases.key?(id)

        @leases[id] = now + lease_seconds
        :claimed
      end
    end

    # The event was handled.
    def commit(id)
      @lock.synchronize do
        @leases.delete(id)
        @handled.delete(id)
        @handled[id] = @clock.call + @ttl_seconds
        @handled.shift while @handled.length > @max_ids
      end
    end

    # The event was not handled, and may be claimed again. A committed id stays committed.
    def release(id)
      @lock.synchronize { @leases.delete(id) }
    end
  end
end
