module webhook-receiver

go 1.19
