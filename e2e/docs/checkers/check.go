package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os"
	"strings"

	"example/webhooks"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		cells := strings.Split(lines.Text(), "\t")
		for i, cell := range cells {
			// A header that is missing is empty in Go.
			if cell == "-" {
				cells[i] = ""
			}
		}
		body, _ := base64.StdEncoding.DecodeString(cells[2])
		if cells[0] == "body" {
			fmt.Println(webhooks.VerifyBody(cells[1], body, cells[3]))
		} else if cells[0] == "key" {
			fmt.Println(webhooks.VerifyWithKey(cells[1], body, cells[3], cells[4], cells[5]))
		} else {
			fmt.Println(webhooks.VerifyMessage(cells[1], body, cells[3], cells[4], cells[5]))
		}
	}
}
