package hookferry

// Every case of conformance/: what receivers in all languages check and read alike.

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

type signatureCase struct {
	Name       string
	Expect     string
	Secrets    []string
	PublicKeys []string `json:"public_keys"`
	Jwks       json.RawMessage
	Headers    map[string]string
	BodyBase64 string `json:"body_base64"`
	Now        int64
	Tolerance  int64
	Skew       int64
	Header     string
	Payload    string
}

func readCases(t *testing.T, name string, least int, into any) {
	t.Helper()
	text, err := os.ReadFile("../../conformance/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases json.RawMessage }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(file.Cases, into); err != nil {
		t.Fatal(err)
	}
	if count := reflect.ValueOf(into).Elem().Len(); count < least {
		t.Fatalf("%s has only %d cases", name, count)
	}
}

// As a server that keeps the names as they came: http.Header.Set would change their case.
func headerOf(from map[string]string) http.Header {
	header := http.Header{}
	for name, value := range from {
		header[name] = []string{value}
	}
	return header
}

func decoded(t *testing.T, text string) []byte {
	t.Helper()
	bytes, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func at(seconds int64) func() time.Time {
	return func() time.Time { return time.Unix(seconds, 0) }
}

func codeOf(err error) string {
	var verification *VerificationError
	if errors.As(err, &verification) {
		return string(verification.Code)
	}
	if err != nil {
		return "another error: " + err.Error()
	}
	return "ok"
}

func checkSignature(t *testing.T, each signatureCase) {
	t.Helper()
	body := decoded(t, each.BodyBase64)
	receiver, err := New(Options{Secrets: each.Secrets, PublicKeys: each.PublicKeys,
		Tolerance: time.Duration(each.Tolerance) * time.Second, Now: at(each.Now)})
	if err == nil {
		_, err = receiver.VerifySignature(body, headerOf(each.Headers))
	}
	if code := codeOf(err); code != each.Expect {
		t.Fatalf("%s instead of %s", code, each.Expect)
	}
	var verification *VerificationError
	if errors.As(err, &verification) {
		if verification.SkewSeconds != each.Skew || (each.Header != "" && verification.Header != each.Header) {
			t.Fatalf("wrong facts: %+v", verification)
		}
		return
	}
	// The corpus is about signatures, so some bodies in it are no events.
	expected := each.Payload
	if expected == "" {
		expected = "invalid_payload"
		if strings.HasPrefix(string(body), `{"type":`) {
			expected = "ok"
		}
	}
	if _, err := receiver.Verify(body, headerOf(each.Headers)); codeOf(err) != expected {
		t.Fatalf("the payload is %s instead of %s", codeOf(err), expected)
	}
}

func TestSignatures(t *testing.T) {
	var cases []signatureCase
	readCases(t, "signatures.json", 50, &cases)
	for _, each := range cases {
		t.Run(each.Name, func(t *testing.T) { checkSignature(t, each) })
	}
}

func TestPublicKeys(t *testing.T) {
	var cases []signatureCase
	readCases(t, "asymmetric.json", 50, &cases)
	count := 0
	for _, each := range cases {
		if each.Jwks != nil {
			continue // This package takes keys, and fetches no sets of them.
		}
		count++
		t.Run(each.Name, func(t *testing.T) { checkSignature(t, each) })
	}
	if count < 30 {
		t.Fatalf("only %d cases", count)
	}
}

func TestEvents(t *testing.T) {
	var cases []struct {
		Name, ID, Body  string
		Service, Binary bool
		Headers         map[string]string
		Expect          json.RawMessage
	}
	readCases(t, "events.json", 30, &cases)
	for _, each := range cases {
		t.Run(each.Name, func(t *testing.T) {
			header := headerOf(each.Headers)
			sign(header, each.ID, []byte(each.Body), each.Service)
			receiver := newReceiver(t, Options{BinaryCloudEvents: each.Binary})
			request, err := receiver.VerifyEvents([]byte(each.Body), header)
			if string(each.Expect) == `"invalid_payload"` {
				if codeOf(err) != "invalid_payload" {
					t.Fatal(codeOf(err))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			found, _ := json.Marshal(presented(request))
			if !isSameJSON(found, each.Expect) {
				t.Fatalf("%s instead of %s", found, each.Expect)
			}
			event, err := receiver.Verify([]byte(each.Body), header)
			if request.IsBatch && codeOf(err) != "invalid_payload" {
				t.Fatal("one event of a list")
			}
			if !request.IsBatch && !reflect.DeepEqual(event, request.Events[0]) {
				t.Fatalf("%+v instead of %+v", event, request.Events[0])
			}
		})
	}
}

func presented(request Request) map[string]any {
	events := []map[string]any{}
	for _, event := range request.Events {
		shown := map[string]any{"type": event.Type, "data": event.Data}
		if event.ID != "" {
			shown["id"] = event.ID
		}
		if event.AcceptedAt != "" {
			shown["accepted_at"] = event.AcceptedAt
		}
		if event.CloudEvent != nil {
			shown["cloudevent"] = event.CloudEvent
		}
		events = append(events, shown)
	}
	return map[string]any{"is_batch": request.IsBatch, "events": events}
}

func isSameJSON(one, other []byte) bool {
	var a, b any
	return json.Unmarshal(one, &a) == nil && json.Unmarshal(other, &b) == nil && reflect.DeepEqual(a, b)
}

const strange = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

func TestRequests(t *testing.T) {
	var cases []struct {
		Name     string
		Settings struct {
			Header string `json:"signature_header"`
			Prefix string `json:"signature_prefix"`
		}
		Webhook struct {
			Secrets []struct {
				Secret    string
				ExpiresAt *int64 `json:"expires_at"`
			}
		}
		Event struct {
			ID, Type string
			DataText string `json:"data_text"`
		}
		Now     int64
		Request struct {
			Headers    map[string]string
			BodyBase64 string `json:"body_base64"`
		}
	}
	readCases(t, "requests.json", 15, &cases)
	for _, each := range cases {
		t.Run(each.Name, func(t *testing.T) {
			body := decoded(t, each.Request.BodyBase64)
			verify := func(options Options, headers map[string]string) (Event, error) {
				options.Now = at(each.Now)
				return newReceiver(t, options).Verify(body, headerOf(headers))
			}
			for _, secret := range each.Webhook.Secrets {
				event, err := verify(Options{Secrets: []string{secret.Secret}}, each.Request.Headers)
				if secret.ExpiresAt != nil && *secret.ExpiresAt <= each.Now {
					if codeOf(err) != "no_match" {
						t.Fatal("a secret that has expired is accepted")
					}
					continue
				}
				if err != nil || event.ID != each.Event.ID || event.Timestamp.Unix() != each.Now || event.Type != each.Event.Type {
					t.Fatalf("%+v %v", event, err)
				}
				// Data are as they were published, byte for byte.
				if string(event.Data) != strings.TrimSpace(each.Event.DataText) {
					t.Fatalf("%s instead of %s", event.Data, each.Event.DataText)
				}
			}
			if _, err := verify(Options{Secrets: []string{strange}}, each.Request.Headers); codeOf(err) != "no_match" {
				t.Fatal("another secret is accepted")
			}
			delete(each.Request.Headers, "webhook-signature")
			plain := Options{Secrets: []string{each.Webhook.Secrets[0].Secret}, ServiceHeader: each.Settings.Header, ServicePrefix: each.Settings.Prefix}
			if event, err := verify(plain, each.Request.Headers); err != nil || event.Type != each.Event.Type {
				t.Fatalf("%+v %v", event, err)
			}
		})
	}
}

type busyStore struct{}

func (busyStore) Claim(context.Context, string, time.Duration) (Claim, error) { return Busy, nil }
func (busyStore) Commit(context.Context, string) error                        { return errors.New("not for one who is busy") }
func (busyStore) Release(context.Context, string) error                       { return errors.New("not for one who is busy") }

func TestLimits(t *testing.T) {
	text, err := os.ReadFile("../../conformance/receivers.json")
	if err != nil {
		t.Fatal(err)
	}
	var limits struct {
		MaxBodyBytes      int64 `json:"max_body_bytes"`
		LeaseSeconds      int   `json:"lease_seconds"`
		RememberedSeconds int   `json:"remembered_seconds"`
		Busy              struct {
			Status            int
			RetryAfterSeconds int `json:"retry_after_seconds"`
		}
	}
	if err := json.Unmarshal(text, &limits); err != nil {
		t.Fatal(err)
	}
	if limits.MaxBodyBytes != defaultMaxBytes || limits.LeaseSeconds != int(defaultLease.Seconds()) ||
		limits.RememberedSeconds != int(time.Duration(defaultRemembered).Seconds()) {
		t.Fatalf("%+v", limits)
	}
	handler := newReceiver(t, Options{Dedupe: busyStore{}}).Handler(func(context.Context, Event) error { return nil })
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, signedRequest("evt_1", `{"type":"order.created","data":{}}`))
	if recorder.Code != limits.Busy.Status || recorder.Header().Get("retry-after") != strconv.Itoa(limits.Busy.RetryAfterSeconds) {
		t.Fatalf("%d %v", recorder.Code, recorder.Header())
	}
}
