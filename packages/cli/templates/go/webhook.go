package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	tolerance    = 5 * time.Minute
	maxBodyBytes = 1_310_720
	// The service keeps events for so long, and may send one again until then.
	remembered = 14 * 24 * time.Hour
)

// Event is what the service sends. Its ID is the same each time that the event comes.
type Event struct {
	ID   string          `json:"-"`
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// Receiver verifies requests by the secret of the webhook, and handles each event once.
type Receiver struct {
	key    []byte
	handle func(Event) error
	mutex  sync.Mutex
	// By the id of the event: until when it counts as handled. The zero time: it is being handled now.
	seen map[string]time.Time
}

// NewReceiver takes the secret as issued: whsec_ and base64. An error of handle has the event sent again later.
func NewReceiver(secret string, handle func(Event) error) (*Receiver, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if !strings.HasPrefix(secret, "whsec_") || err != nil || len(key) == 0 {
		return nil, errors.New("the secret must be whsec_ and base64, as in the response to the registration of the webhook")
	}
	return &Receiver{key: key, handle: handle, seen: map[string]time.Time{}}, nil
}

func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "method_not_allowed", http.StatusMethodNotAllowed)
		return
	}
	// The bytes as they came: the signature covers them.
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxBodyBytes))
	if err != nil {
		http.Error(w, "body_too_large", http.StatusRequestEntityTooLarge)
		return
	}
	id := request.Header.Get("webhook-id")
	if !r.isSigned(id, request.Header.Get("webhook-timestamp"), request.Header.Get("webhook-signature"), body) {
		http.Error(w, "not_verified", http.StatusUnauthorized)
		return
	}
	event := Event{ID: id}
	if err := json.Unmarshal(body, &event); err != nil {
		http.Error(w, "not_an_event", http.StatusUnprocessableEntity)
		return
	}
	w.WriteHeader(r.handleOnce(event))
}

func (r *Receiver) isSigned(id, timestamp, signatures string, body []byte) bool {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	age := time.Since(time.Unix(seconds, 0))
	if id == "" || err != nil || age > tolerance || age < -tolerance {
		return false
	}
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	isSigned := false
	// While the secret is rotated there are several.
	for _, given := range strings.Split(signatures, " ") {
		isSigned = hmac.Equal([]byte(given), expected) || isSigned
	}
	return isSigned
}

// handleOnce gives the status of the response.
func (r *Receiver) handleOnce(event Event) int {
	if status, isKnown := r.claim(event.ID); isKnown {
		return status
	}
	isHandled := false
	// Also when the handler panics.
	defer func() {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		if isHandled {
			r.seen[event.ID] = time.Now().Add(remembered)
		} else {
			delete(r.seen, event.ID)
		}
	}()
	if err := r.handle(event); err != nil {
		log.Printf("%s: %v", event.ID, err)
		return http.StatusInternalServerError
	}
	isHandled = true
	return http.StatusNoContent
}

func (r *Receiver) claim(id string) (status int, isKnown bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for each, until := range r.seen {
		if !until.IsZero() && until.Before(time.Now()) {
			delete(r.seen, each)
		}
	}
	until, isThere := r.seen[id]
	switch {
	case !isThere:
		r.seen[id] = time.Time{}
		return 0, false
	case until.IsZero():
		return http.StatusConflict, true
	default:
		return http.StatusNoContent, true
	}
}
