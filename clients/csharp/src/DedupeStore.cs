using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;

namespace Hookferry
{
    /// <summary>The state of an id in a store.</summary>
    public enum Claim
    {
        /// <summary>Handle the event now.</summary>
        Claimed,
        /// <summary>Another one handles it.</summary>
        Busy,
        /// <summary>It was handled.</summary>
        Done,
    }

    /// <summary>
    /// Stores the ids of handled events. An id is claimed, and then committed or released. A claim that is neither ends with
    /// its lease.
    /// </summary>
    public interface IDedupeStore
    {
        /// <summary>Atomic: of concurrent claims, one gets Claimed.</summary>
        Task<Claim> ClaimAsync(string id, TimeSpan lease);

        /// <summary>The event was handled.</summary>
        Task CommitAsync(string id);

        /// <summary>The event was not handled, and may be claimed again. A committed id stays committed.</summary>
        Task ReleaseAsync(string id);
    }

    /// <summary>
    /// Stores ids in the memory of this process. They are lost when it ends, and other processes do not see them.
    /// </summary>
    public sealed class MemoryStore : IDedupeStore
    {
        /// <summary>How long an id is stored: 14 days, the service's default RETENTION.</summary>
        public static readonly TimeSpan DefaultRemembered = TimeSpan.FromDays(14);

        private readonly int maxIds;
        private readonly TimeSpan remembered;
        private readonly Func<DateTimeOffset> now;
        private readonly object gate = new object();
        private readonly Dictionary<string, DateTimeOffset> leases = new Dictionary<string, DateTimeOffset>();
        private readonly Dictionary<string, DateTimeOffset> handled = new Dictionary<string, DateTimeOffset>();
        private readonly Queue<KeyValuePair<string, DateTimeOffset>> order = new Queue<KeyValuePair<string, DateTimeOffset>>();

        /// <param name="maxIds">The most handled events that are stored. Beyond it the oldest is removed.</param>
        /// <param name="remembered">How long an id is stored. Default 14 days.</param>
        /// <param name="now">The clock. Default: this machine's.</param>
        public MemoryStore(int maxIds = 10000, TimeSpan? remembered = null, Func<DateTimeOffset> now = null)
        {
            this.maxIds = maxIds;
            this.remembered = remembered ?? DefaultRemembered;
            this.now = now ?? (() => DateTimeOffset.UtcNow);
        }

        public Task<Claim> ClaimAsync(string id, TimeSpan lease)
        {
            lock (gate)
            {
                var present = now();
                foreach (var ended in leases.Where(each => each.Value <= present).ToList()) leases.Remove(ended.Key);
                RemoveOldest(each => each.Value <= present);
                if (handled.ContainsKey(id)) return Task.FromResult(Claim.Done);
                if (leases.ContainsKey(id)) return Task.FromResult(Claim.Busy);
                leases[id] = present + lease;
                return Task.FromResult(Claim.Claimed);
            }
        }

        public Task CommitAsync(string id)
        {
            lock (gate)
            {
                leases.Remove(id);
                handled[id] = now() + remembered;
                order.Enqueue(new KeyValuePair<string, DateTimeOffset>(id, handled[id]));
                RemoveOldest(_ => handled.Count > maxIds);
                return Task.CompletedTask;
            }
        }

        public Task ReleaseAsync(string id)
        {
            lock (gate)
            {
                leases.Remove(id);
                return Task.CompletedTask;
            }
        }

        private void RemoveOldest(Func<KeyValuePair<string, DateTimeOffset>, bool> isOver)
        {
            while (order.Count > 0 && isOver(order.Peek()))
            {
                var oldest = order.Dequeue();
                // Not if it was committed again later.
                if (handled.TryGetValue(oldest.Key, out var endsAt) && endsAt == oldest.Value) handled.Remove(oldest.Key);
            }
        }
    }
}
