package hookferry

import (
	"context"
	"sync"
	"time"
)

// Claim is the state of an id in a DedupeStore.
type Claim int

const (
	// Claimed: handle the event now.
	Claimed Claim = iota
	// Busy: another one handles it.
	Busy
	// Done: it was handled.
	Done
)

// DedupeStore stores the ids of handled events. An id is claimed, and then committed or released. A claim that is neither
// ends with its lease.
type DedupeStore interface {
	// Claim is atomic: of concurrent claims, one gets Claimed.
	Claim(ctx context.Context, id string, lease time.Duration) (Claim, error)
	// Commit: the event was handled.
	Commit(ctx context.Context, id string) error
	// Release: the event was not handled, and may be claimed again. A committed id stays committed.
	Release(ctx context.Context, id string) error
}

const (
	defaultMaxIDs = 10_000
	// The service's default RETENTION.
	defaultRemembered = 14 * 24 * time.Hour
)

// MemoryStore stores ids in the memory of this process. They are lost when it ends, and other processes do not see them.
type MemoryStore struct {
	// MaxIDs is the most handled events that are stored. Beyond it the oldest is removed. Default 10,000.
	MaxIDs int
	// TTL is how long they are stored. Default 14 days.
	TTL time.Duration
	// Now is the clock. Default time.Now.
	Now func() time.Time

	lock    sync.Mutex
	leases  map[string]time.Time
	handled map[string]time.Time
	order   []handledID // the oldest first
}

type handledID struct {
	id    string
	until time.Time
}

func (s *MemoryStore) Claim(_ context.Context, id string, lease time.Duration) (Claim, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	now := s.start()
	s.forget(func(each handledID) bool { return !each.until.After(now) })
	if _, isHandled := s.handled[id]; isHandled {
		return Done, nil
	}
	if until, isLeased := s.leases[id]; isLeased && until.After(now) {
		return Busy, nil
	}
	s.leases[id] = now.Add(lease)
	return Claimed, nil
}

func (s *MemoryStore) Commit(_ context.Context, id string) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	now := s.start()
	until := now.Add(orDefault(s.TTL, defaultRemembered))
	delete(s.leases, id)
	s.handled[id] = until
	s.order = append(s.order, handledID{id, until})
	max := orDefault(s.MaxIDs, defaultMaxIDs)
	s.forget(func(handledID) bool { return len(s.handled) > max })
	return nil
}

func (s *MemoryStore) Release(_ context.Context, id string) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.start()
	delete(s.leases, id)
	return nil
}

func (s *MemoryStore) start() time.Time {
	if s.handled == nil {
		s.leases, s.handled = map[string]time.Time{}, map[string]time.Time{}
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	now := s.Now()
	// Only claims that were neither committed nor released are left, so there are few.
	for id, until := range s.leases {
		if !until.After(now) {
			delete(s.leases, id)
		}
	}
	return now
}

func (s *MemoryStore) forget(isOver func(handledID) bool) {
	for len(s.order) > 0 && isOver(s.order[0]) {
		oldest := s.order[0]
		s.order = s.order[1:]
		// Not if it was committed again later.
		if s.handled[oldest.id].Equal(oldest.until) {
			delete(s.handled, oldest.id)
		}
	}
}

func orDefault[Value int | time.Duration](value, otherwise Value) Value {
	if value == 0 {
		return otherwise
	}
	return value
}
