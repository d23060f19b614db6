package hookferry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// HandlerFunc handles an event. When it returns nil, the event is handled. When it returns an error, the service sends the
// event again, unless the error is Abort, Disable or RetryAfter, or wraps one of them.
type HandlerFunc func(ctx context.Context, event Event) error

// Reply is an error with which a handler tells the service something else than "send it again".
type Reply struct {
	status int
	header map[string]string
}

func (r *Reply) Error() string { return fmt.Sprintf("the handler responds with %d", r.status) }

var (
	// Abort gives this event up: the service makes no further attempt.
	Abort error = &Reply{http.StatusUnprocessableEntity, map[string]string{"webhook-delivery": "abort"}}
	// Disable disables the webhook. This event and later ones are held until somebody enables it.
	Disable error = &Reply{http.StatusServiceUnavailable, map[string]string{"webhook-delivery": "disable"}}
)

// RetryAfter has the event sent again after at least this time, which is rounded up to seconds, from 1 on. The service
// waits for 24 hours at most.
func RetryAfter(delay time.Duration) error {
	seconds := int64((delay + time.Second - 1) / time.Second)
	if seconds < 1 {
		seconds = 1
	}
	return &Reply{http.StatusServiceUnavailable, map[string]string{"retry-after": strconv.FormatInt(seconds, 10)}}
}

// The service tries again soon, and most handlers have finished by then.
const busyRetrySeconds = "10"

type response struct {
	status int
	header map[string]string
	text   string
}

// Handler verifies each request, answers the service's challenge, and calls handle for each event. A panic of handle is
// not caught: net/http closes the connection, and the service sends the event again.
func (r *Receiver) Handler(handle HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		response := r.respond(w, request, handle)
		for name, value := range response.header {
			w.Header().Set(name, value)
		}
		if response.text != "" && response.header["content-type"] == "" {
			w.Header().Set("content-type", "text/plain; charset=utf-8")
		}
		w.WriteHeader(response.status)
		_, _ = io.WriteString(w, response.text)
	})
}

func (r *Receiver) respond(w http.ResponseWriter, request *http.Request, handle HandlerFunc) response {
	if request.Method != http.MethodPost {
		return response{status: http.StatusMethodNotAllowed, header: map[string]string{"allow": "POST"}}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, r.options.MaxBytes))
	if err != nil {
		r.options.OnError(fmt.Errorf("the body could not be read: %w", err))
		return response{status: http.StatusRequestEntityTooLarge,
			text: fmt.Sprintf("The body has more than %d bytes, or did not arrive as a whole.\n", r.options.MaxBytes)}
	}
	verified, err := r.VerifyEvents(body, request.Header)
	if err != nil {
		r.options.OnError(err)
		return response{status: http.StatusUnauthorized, text: err.Error() + "\n"}
	}
	if verified.IsBatch {
		return r.handleEach(request.Context(), verified.Events, handle)
	}
	if challenge, isChallenge := challengeOf(verified.Events[0]); isChallenge {
		text, _ := json.Marshal(map[string]string{"challenge": challenge})
		return response{status: http.StatusOK, header: map[string]string{"content-type": "application/json"}, text: string(text)}
	}
	return r.handleOnce(request.Context(), verified.Events[0], handle)
}

// The service wants an answer before it sends events. Its signature was verified before.
func challengeOf(event Event) (string, bool) {
	if event.Type != "webhook.verification" {
		return "", false
	}
	var data members
	if json.Unmarshal(event.Data, &data) != nil {
		return "", false
	}
	return textOf(data["challenge"])
}

// Handles an event, unless it was handled before or is being handled now. Without a store, or without a signed id, it is
// handled each time.
func (r *Receiver) handleOnce(ctx context.Context, event Event, handle HandlerFunc) response {
	store := r.options.Dedupe
	if store == nil || event.ID == "" {
		return r.responseTo(handle(ctx, event))
	}
	leaseEndsAt := r.options.Now().Add(r.options.Lease)
	claim, err := store.Claim(ctx, event.ID, r.options.Lease)
	if err != nil {
		return r.responseTo(fmt.Errorf("the store of handled events failed: %w", err))
	}
	switch claim {
	case Done:
		return response{status: http.StatusNoContent}
	case Busy:
		return response{status: http.StatusConflict, header: map[string]string{"retry-after": busyRetrySeconds},
			text: "This event is being handled right now.\n"}
	}
	isSettled := false
	defer func() {
		if !isSettled { // It panicked.
			r.release(ctx, event.ID, leaseEndsAt)
		}
	}()
	failure := handle(ctx, event)
	isSettled = true
	if failure != nil {
		r.release(ctx, event.ID, leaseEndsAt)
	} else if err := store.Commit(ctx, event.ID); err != nil {
		// The result of the event stays: the lease ends by itself.
		r.options.OnError(err)
	}
	return r.responseTo(failure)
}

func (r *Receiver) release(ctx context.Context, id string, leaseEndsAt time.Time) {
	// After the lease, the claim may belong to another process.
	if !r.options.Now().Before(leaseEndsAt) {
		return
	}
	if err := r.options.Dedupe.Release(ctx, id); err != nil {
		r.options.OnError(err)
	}
}

func (r *Receiver) responseTo(failure error) response {
	if failure == nil {
		return response{status: http.StatusNoContent}
	}
	var reply *Reply
	if errors.As(failure, &reply) {
		return response{status: reply.status, header: reply.header}
	}
	r.options.OnError(failure)
	return response{status: http.StatusInternalServerError,
		text: "The webhook could not be handled: the log of the receiver says why.\n"}
}

// One response for all events, which names those that failed.
func (r *Receiver) handleEach(ctx context.Context, events []Event, handle HandlerFunc) response {
	var refusals []response
	failed := []string{}
	for _, event := range events {
		var result response
		if r.options.InOrder && len(refusals) > 0 {
			result = refusals[0]
		} else {
			result = r.handleOnce(ctx, event, handle)
		}
		if result.status > 299 {
			refusals = append(refusals, result)
			failed = append(failed, event.ID)
		}
	}
	if len(refusals) == 0 {
		return response{status: http.StatusNoContent}
	}
	header := wishesOf(refusals)
	if len(refusals) == len(events) {
		return refuseAll(refusals, header)
	}
	// The other events are delivered. A single event of a batch cannot be aborted: Abort counts as a failure.
	header["content-type"] = "application/json"
	text, _ := json.Marshal(map[string][]string{"failed": failed})
	return response{status: http.StatusOK, header: header, text: string(text)}
}

// No event was handled: respond with an error status, so that the service treats the receiver as failing.
func refuseAll(refusals []response, wishes map[string]string) response {
	first := refusals[0]
	for _, each := range refusals {
		if each.status != first.status || each.header["webhook-delivery"] != first.header["webhook-delivery"] {
			return response{status: http.StatusInternalServerError, header: wishes}
		}
	}
	header := map[string]string{}
	for _, from := range []map[string]string{first.header, wishes} {
		for name, value := range from {
			header[name] = value
		}
	}
	return response{status: first.status, header: header, text: first.text}
}

// The wishes of single events that apply to the whole webhook: to disable it, and how long to wait.
func wishesOf(refusals []response) map[string]string {
	wishes, longest := map[string]string{}, 0
	for _, each := range refusals {
		if each.header["webhook-delivery"] == "disable" {
			wishes["webhook-delivery"] = "disable"
		}
		if seconds, _ := strconv.Atoi(each.header["retry-after"]); seconds > longest {
			longest = seconds
		}
	}
	if longest > 0 {
		wishes["retry-after"] = strconv.Itoa(longest)
	}
	return wishes
}
