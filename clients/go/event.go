package hookferry

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"time"
	"unicode/utf8"
)

// Event is a verified event, whichever format its request had.
type Event struct {
	// ID of the event: the same on every attempt. Empty only with X-Service-Signature alone, which covers no header.
	ID string
	// Timestamp is the time at which its request was signed; zero if it was not signed.
	Timestamp time.Time
	Type      string
	// Data as it was published. Decode it by json.Unmarshal. It is nil if a CloudEvent has none.
	Data json.RawMessage
	// AcceptedAt is the time at which the service accepted the event (RFC 3339). The format "native" does not have it.
	AcceptedAt string
	// CloudEvent has all attributes, if it came as a CloudEvent.
	CloudEvent map[string]any
}

// Request is the content of a verified request.
type Request struct {
	// Events in the order in which the service accepted them.
	Events []Event
	// IsBatch says whether the request is a list, also of one event. A 2xx then accepts all its events. With the body
	// {"failed": [ids]} it accepts all others.
	IsBatch bool
}

// Verify verifies a request, and returns its event. Pass the body as it arrived, and all headers.
//
// Its error is a *VerificationError: respond with 401. It is invalid_payload also for a request with several events.
func (r *Receiver) Verify(body []byte, header http.Header) (Event, error) {
	request, err := r.VerifyEvents(body, header)
	if err != nil {
		return Event{}, err
	}
	if request.IsBatch {
		return Event{}, invalidPayload("is a list: read it by VerifyEvents")
	}
	return request.Events[0], nil
}

// VerifyEvents is like Verify, for a webhook with "batch": it returns all events of a request.
func (r *Receiver) VerifyEvents(body []byte, header http.Header) (Request, error) {
	signed, err := r.VerifySignature(body, header)
	if err != nil {
		return Request{}, err
	}
	return readEvents(body, header, signed, r.options.BinaryCloudEvents)
}

type members map[string]json.RawMessage

// The body says which format it has, and no header does: no signature covers headers.
func readEvents(body []byte, header http.Header, signed Signed, takesBinary bool) (Request, error) {
	if !utf8.Valid(body) {
		return Request{}, invalidPayload("is not UTF-8")
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	_, isBinary, err := readHeader(header, "ce-specversion")
	if err != nil {
		return Request{}, err
	}
	if isBinary {
		if !takesBinary {
			return Request{}, invalidPayload("comes with attributes as headers, and BinaryCloudEvents is not set")
		}
		return one(binaryEvent(body, header, signed))
	}
	if !json.Valid(body) {
		return Request{}, invalidPayload("is not JSON")
	}
	var items []json.RawMessage
	if json.Unmarshal(body, &items) == nil && items != nil {
		return several(items, signed, cloudEvent)
	}
	var payload members
	if json.Unmarshal(body, &payload) != nil || payload == nil {
		return Request{}, invalidPayload("is not an object")
	}
	if _, isCloudEvent := payload["specversion"]; isCloudEvent {
		return one(cloudEvent(body, signed))
	}
	eventType, hasType := textOf(payload["type"])
	data, hasData := payload["data"]
	if !hasType || !hasData {
		return Request{}, invalidPayload(`has no "type" and "data"`)
	}
	// No event has this type: each has a dot.
	if eventType == "batch" && json.Unmarshal(data, &items) == nil && items != nil {
		return several(items, signed, batchItem)
	}
	return one(Event{ID: signed.ID, Timestamp: signed.Timestamp, Type: eventType, Data: data}, nil)
}

func one(event Event, err error) (Request, error) {
	if err != nil {
		return Request{}, err
	}
	return Request{Events: []Event{event}}, nil
}

func several(items []json.RawMessage, signed Signed, read func([]byte, Signed) (Event, error)) (Request, error) {
	request := Request{IsBatch: true, Events: make([]Event, 0, len(items))}
	for _, item := range items {
		event, err := read(item, signed)
		if err != nil {
			return Request{}, err
		}
		request.Events = append(request.Events, event)
	}
	return request, nil
}

func batchItem(item []byte, signed Signed) (Event, error) {
	var payload members
	if json.Unmarshal(item, &payload) != nil || payload == nil {
		return Event{}, invalidPayload("has an item that is not an object")
	}
	id, hasID := textOf(payload["id"])
	eventType, hasType := textOf(payload["type"])
	acceptedAt, hasTime := textOf(payload["timestamp"])
	if !hasID || !hasType || !hasTime {
		return Event{}, invalidPayload(`has an item without "id", "type" or "timestamp"`)
	}
	return Event{ID: id, Timestamp: signed.Timestamp, Type: eventType, Data: payload["data"], AcceptedAt: acceptedAt}, nil
}

// One that is a JSON object. Its id is in the body, which is signed.
func cloudEvent(item []byte, signed Signed) (Event, error) {
	var payload members
	if json.Unmarshal(item, &payload) != nil || payload == nil {
		return Event{}, invalidPayload("has an item that is not a CloudEvent")
	}
	data := payload["data"]
	delete(payload, "data")
	attributes := make(map[string]any, len(payload))
	for name, text := range payload {
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			return Event{}, invalidPayload("is not JSON")
		}
		attributes[name] = value
	}
	id, _ := attributes["id"].(string)
	return eventOf(attributes, Signed{ID: id, Timestamp: signed.Timestamp}, data)
}

// In the order of the specification. Names of extensions can't be found in all kinds of headers.
var attributeNames = []string{"specversion", "id", "source", "type", "time", "subject", "dataschema", "partitionkey"}

var jsonMediaType = regexp.MustCompile(`(?i)^[^;]*[/+]json\b`)

// One whose attributes are headers. Its id is that of the request, which is signed.
func binaryEvent(body []byte, header http.Header, signed Signed) (Event, error) {
	contentType, isThere, err := readHeader(header, "content-type")
	if err != nil {
		return Event{}, err
	}
	if !isThere {
		contentType = "application/json"
	}
	data := json.RawMessage(body)
	if !jsonMediaType.MatchString(contentType) {
		data, _ = json.Marshal(string(body))
	} else if !json.Valid(body) {
		return Event{}, invalidPayload("is not JSON")
	}
	attributes := map[string]any{"datacontenttype": contentType}
	for _, name := range attributeNames {
		value, isThere, err := readHeader(header, "ce-"+name)
		if err != nil {
			return Event{}, err
		}
		if isThere {
			attributes[name] = percentDecoded(value)
		}
	}
	if signed.ID != "" && attributes["id"] != signed.ID {
		return Event{}, invalidPayload(`comes with a "ce-id" that is not the id that was signed`)
	}
	return eventOf(attributes, signed, data)
}

func eventOf(attributes map[string]any, signed Signed, data json.RawMessage) (Event, error) {
	for _, name := range []string{"id", "source", "type"} {
		if text, isText := attributes[name].(string); !isText || text == "" {
			return Event{}, invalidPayload("is not a CloudEvent 1.0")
		}
	}
	if attributes["specversion"] != "1.0" {
		return Event{}, invalidPayload("is not a CloudEvent 1.0")
	}
	acceptedAt, _ := attributes["time"].(string)
	return Event{ID: signed.ID, Timestamp: signed.Timestamp, Type: attributes["type"].(string), Data: data,
		AcceptedAt: acceptedAt, CloudEvent: attributes}, nil
}

// As the HTTP binding of CloudEvents says. A text that is not percent-encoded UTF-8 is taken as it is.
func percentDecoded(value string) string {
	if decoded, err := url.PathUnescape(value); err == nil && utf8.ValidString(decoded) {
		return decoded
	}
	return value
}

func textOf(value json.RawMessage) (string, bool) {
	var text *string
	if len(value) == 0 || json.Unmarshal(value, &text) != nil || text == nil {
		return "", false
	}
	return *text, true
}
