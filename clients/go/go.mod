module github.com/hookferry/hookferry/clients/go

go 1.18
