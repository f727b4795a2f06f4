package main

import (
	"encoding/json"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"peers/dataset"
)

func handle(ctx *fasthttp.RequestCtx) {
	path := string(ctx.Path())
	switch {
	case path == "/":
		ctx.SetContentType("text/plain")
		ctx.SetBodyString("Hello, World!")
	case strings.HasPrefix(path, "/json/"):
		items(ctx, path[len("/json/"):])
	case strings.HasPrefix(path, "/sleep/"):
		sleep(ctx, path[len("/sleep/"):])
	default:
		ctx.SetStatusCode(fasthttp.StatusNotFound)
	}
}

func items(ctx *fasthttp.RequestCtx, number string) {
	count, err := strconv.Atoi(number)
	m, merr := ctx.QueryArgs().GetUint("m")
	if err != nil || merr != nil {
		ctx.SetStatusCode(fasthttp.StatusBadRequest)
		return
	}
	body, err := json.Marshal(dataset.Respond(count, uint64(m)))
	if err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
		return
	}
	ctx.SetContentType("application/json")
	ctx.SetBody(body)
}

func sleep(ctx *fasthttp.RequestCtx, number string) {
	ms, err := strconv.Atoi(number)
	if err != nil {
		ctx.SetStatusCode(fasthttp.StatusBadRequest)
		return
	}
	time.Sleep(time.Duration(ms) * time.Millisecond)
	ctx.SetContentType("text/plain")
	ctx.SetBodyString("ok")
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: fasthttp ADDRESS DATASET")
	}
	if err := dataset.Load(os.Args[2]); err != nil {
		log.Fatal(err)
	}
	log.Fatal(fasthttp.ListenAndServe(os.Args[1], handle))
}
