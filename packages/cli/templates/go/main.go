// Receives webhooks at /webhooks: WEBHOOK_SECRET=whsec_… go run .
package main

import (
	"log"
	"net/http"
	"os"
)

// What happens with each event. An error has it sent again later.
func handle(event Event) error {
	switch event.Type {
	case "order.created":
		log.Printf("%s: an order was created: %s", event.ID, event.Data)
	default:
		log.Printf("%s: nothing to do for %s", event.ID, event.Type)
	}
	return nil
}

func main() {
	receiver, err := NewReceiver(os.Getenv("WEBHOOK_SECRET"), handle)
	if err != nil {
		log.Fatal("WEBHOOK_SECRET: ", err)
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "4000"
	}
	http.Handle("/webhooks", receiver)
	log.Printf("Listening on http://127.0.0.1:%s/webhooks", port)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}
