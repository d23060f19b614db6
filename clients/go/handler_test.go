package hookferry

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func newReceiver(t *testing.T, options Options) *Receiver {
	t.Helper()
	if options.Secrets == nil {
		options.Secrets = []string{secret}
	}
	if options.OnError == nil {
		options.OnError = func(error) {}
	}
	receiver, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	return receiver
}

func sign(header http.Header, id string, body []byte, isService bool) {
	keys, _ := parseSecret(secret)
	if isService {
		header.Set("X-Service-Signature", "sha256="+hex.EncodeToString(sum(keys.issued, body)))
		return
	}
	timestamp := fmt.Sprint(time.Now().Unix())
	message := append([]byte(id+"."+timestamp+"."), body...)
	header.Set("Webhook-Id", id)
	header.Set("Webhook-Timestamp", timestamp)
	header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(sum(keys.decoded, message)))
}

func signedRequest(id, body string) *http.Request {
	request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	sign(request.Header, id, []byte(body), false)
	return request
}

const order = `{"type":"order.created","data":{"id":"ord_1"}}`
const two = `{"type":"batch","data":[{"id":"evt_1","type":"order.created","timestamp":"2026-01-02T03:04:05.678Z","data":{}},` +
	`{"id":"evt_2","type":"order.created","timestamp":"2026-01-02T03:04:05.678Z","data":{}}]}`

func respond(receiver *Receiver, request *http.Request, handle HandlerFunc) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	receiver.Handler(handle).ServeHTTP(recorder, request)
	return recorder
}

func expectResponse(t *testing.T, recorder *httptest.ResponseRecorder, status int, text string, header ...string) {
	t.Helper()
	if recorder.Code != status || !strings.HasPrefix(recorder.Body.String(), text) {
		t.Fatalf("%d %q instead of %d %q", recorder.Code, recorder.Body, status, text)
	}
	for i := 0; i < len(header); i += 2 {
		if found := recorder.Header().Get(header[i]); found != header[i+1] {
			t.Fatalf("%s is %q instead of %q", header[i], found, header[i+1])
		}
	}
}

func TestResponses(t *testing.T) {
	fails := errors.New("database is down")
	for name, each := range map[string]struct {
		body   string
		result func(Event) error
		status int
		text   string
		header []string
	}{
		"handled":                {order, nil, 204, "", nil},
		"failed":                 {order, func(Event) error { return fails }, 500, "The webhook could not", nil},
		"aborted":                {order, func(Event) error { return fmt.Errorf("unknown order: %w", Abort) }, 422, "", []string{"webhook-delivery", "abort"}},
		"disabled":               {order, func(Event) error { return Disable }, 503, "", []string{"webhook-delivery", "disable"}},
		"later":                  {order, func(Event) error { return RetryAfter(1500 * time.Millisecond) }, 503, "", []string{"retry-after", "2"}},
		"a challenge":            {`{"type":"webhook.verification","data":{"challenge":"abc"}}`, func(Event) error { return fails }, 200, `{"challenge":"abc"}`, []string{"content-type", "application/json"}},
		"several, handled":       {two, nil, 204, "", nil},
		"several, one failed":    {two, failing(fails, "evt_2"), 200, `{"failed":["evt_2"]}`, []string{"content-type", "application/json"}},
		"several, one later":     {two, failing(RetryAfter(time.Minute), "evt_1"), 200, `{"failed":["evt_1"]}`, []string{"retry-after", "60"}},
		"several, all failed":    {two, failing(fails, "evt_1", "evt_2"), 500, "The webhook could not", nil},
		"several, all aborted":   {two, failing(Abort, "evt_1", "evt_2"), 422, "", []string{"webhook-delivery", "abort"}},
		"several, none the same": {two, func(e Event) error { return map[string]error{"evt_1": Abort, "evt_2": fails}[e.ID] }, 500, "", []string{"webhook-delivery", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := respond(newReceiver(t, Options{}), signedRequest("evt_0", each.body), func(_ context.Context, event Event) error {
				if each.result == nil {
					return nil
				}
				return each.result(event)
			})
			expectResponse(t, recorder, each.status, each.text, each.header...)
		})
	}
}

func failing(failure error, ids ...string) func(Event) error {
	return func(event Event) error {
		for _, id := range ids {
			if event.ID == id {
				return failure
			}
		}
		return nil
	}
}

func TestRefusesWhatIsNotGenuine(t *testing.T) {
	handle := func(context.Context, Event) error { t.Fatal("it was handled"); return nil }
	receiver := newReceiver(t, Options{MaxBytes: 100})
	forged := signedRequest("evt_1", order)
	forged.Header.Set("Webhook-Id", "evt_2")
	expectResponse(t, respond(receiver, forged, handle), 401, "no_match: No signature in webhook-signature is valid.")
	expectResponse(t, respond(receiver, signedRequest("evt_1", strings.Repeat(" ", 101)), handle), 413, "The body has more than 100 bytes")
	expectResponse(t, respond(receiver, httptest.NewRequest(http.MethodGet, "/", nil), handle), 405, "", "allow", "POST")
}

func TestLeavesTheRestOfABatchInOrder(t *testing.T) {
	calls := 0
	receiver := newReceiver(t, Options{InOrder: true})
	recorder := respond(receiver, signedRequest("batch", two), func(context.Context, Event) error { calls++; return errors.New("no") })
	expectResponse(t, recorder, 500, "")
	if calls != 1 {
		t.Fatalf("%d calls", calls)
	}
}

func TestHandlesAnEventOnce(t *testing.T) {
	calls := 0
	receiver := newReceiver(t, Options{Dedupe: &MemoryStore{}})
	handle := func(context.Context, Event) error {
		calls++
		if calls == 1 {
			return errors.New("no")
		}
		return nil
	}
	for _, status := range []int{500, 204, 204} {
		expectResponse(t, respond(receiver, signedRequest("evt_1", order), handle), status, "")
	}
	if calls != 2 {
		t.Fatalf("%d calls", calls)
	}
}

func TestReleasesAnEventWhoseHandlerPanicked(t *testing.T) {
	store := &MemoryStore{}
	receiver := newReceiver(t, Options{Dedupe: store})
	func() {
		defer func() { _ = recover() }()
		respond(receiver, signedRequest("evt_1", order), func(context.Context, Event) error { panic("no") })
	}()
	if claim, _ := store.Claim(context.Background(), "evt_1", time.Second); claim != Claimed {
		t.Fatal(claim)
	}
}

func TestMemoryStore(t *testing.T) {
	now := time.Unix(0, 0)
	ctx := context.Background()
	store := &MemoryStore{MaxIDs: 2, TTL: 100 * time.Second, Now: func() time.Time { return now }}
	expect := func(id string, expected Claim) {
		t.Helper()
		if claim, _ := store.Claim(ctx, id, 10*time.Second); claim != expected {
			t.Fatalf("%d instead of %d", claim, expected)
		}
	}
	expect("a", Claimed)
	expect("a", Busy)
	_ = store.Release(ctx, "a")
	expect("a", Claimed)
	now = now.Add(10 * time.Second)
	expect("a", Claimed) // Its lease has ended.
	_ = store.Commit(ctx, "a")
	_ = store.Release(ctx, "a")
	expect("a", Done)
	now = now.Add(100 * time.Second)
	expect("a", Claimed) // Its time has ended.
	for _, id := range []string{"a", "b", "c"} {
		_ = store.Commit(ctx, id)
	}
	expect("a", Claimed) // The oldest of more than two.
	expect("b", Done)
}

func TestOneOfManyGetsTheClaim(t *testing.T) {
	store, results := &MemoryStore{}, make(chan Claim, 32)
	var all sync.WaitGroup
	for i := 0; i < 32; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			claim, _ := store.Claim(context.Background(), "a", time.Minute)
			results <- claim
		}()
	}
	all.Wait()
	close(results)
	claimed := 0
	for claim := range results {
		if claim == Claimed {
			claimed++
		}
	}
	if claimed != 1 {
		t.Fatalf("%d claims", claimed)
	}
}
