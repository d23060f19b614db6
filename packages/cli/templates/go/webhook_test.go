package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

var secret = "whsec_" + base64.StdEncoding.EncodeToString([]byte("a secret of thirty-two bytes, ok"))
var foreign = "whsec_" + base64.StdEncoding.EncodeToString([]byte("another one of thirty-two bytes."))

// Give the status of the response to an event that is sent as the service does.
func send(receiver *Receiver, id, secret, body string, age time.Duration) int {
	timestamp := strconv.FormatInt(time.Now().Add(-age).Unix(), 10)
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "." + body))
	request := httptest.NewRequest("POST", "/webhooks", strings.NewReader(body))
	request.Header.Set("webhook-id", id)
	request.Header.Set("webhook-timestamp", timestamp)
	request.Header.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	recorder := httptest.NewRecorder()
	receiver.ServeHTTP(recorder, request)
	return recorder.Code
}

const order = `{"type":"order.created","data":{"id":"ord_1"}}`

func receiverOf(t *testing.T, handle func(Event) error) *Receiver {
	receiver, err := NewReceiver(secret, handle)
	if err != nil {
		t.Fatal(err)
	}
	return receiver
}

func TestHandlesEachEventOnce(t *testing.T) {
	var handled []string
	receiver := receiverOf(t, func(event Event) error {
		handled = append(handled, event.ID+" "+event.Type+" "+string(event.Data))
		return nil
	})
	for i := 0; i < 2; i++ {
		if status := send(receiver, "evt_1", secret, order, 0); status != 204 {
			t.Fatalf("got %d, want 204", status)
		}
	}
	if len(handled) != 1 || handled[0] != `evt_1 order.created {"id":"ord_1"}` {
		t.Fatalf("handled %v", handled)
	}
}

func TestRefusesWhatSomebodyElseHasSignedAndWhatIsOld(t *testing.T) {
	receiver := receiverOf(t, func(Event) error {
		t.Error("it was handled")
		return nil
	})
	if status := send(receiver, "evt_1", foreign, order, 0); status != 401 {
		t.Errorf("another secret: got %d, want 401", status)
	}
	if status := send(receiver, "evt_2", secret, order, time.Hour); status != 401 {
		t.Errorf("an old request: got %d, want 401", status)
	}
}

func TestHasAnEventSentAgainThatItCouldNotHandle(t *testing.T) {
	failures := 1
	receiver := receiverOf(t, func(Event) error {
		failures--
		if failures == 0 {
			return errors.New("as the test wants it")
		}
		return nil
	})
	if status := send(receiver, "evt_1", secret, order, 0); status != 500 {
		t.Errorf("got %d, want 500", status)
	}
	if status := send(receiver, "evt_1", secret, order, 0); status != 204 {
		t.Errorf("the next time: got %d, want 204", status)
	}
}

func TestRefusesASecretThatIsNone(t *testing.T) {
	if _, err := NewReceiver("secret", func(Event) error { return nil }); err == nil {
		t.Error("it was taken")
	}
}
