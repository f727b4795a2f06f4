package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"

	"peers/dataset"
)

func hello(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	w.Write([]byte("Hello, World!"))
}

func items(w http.ResponseWriter, r *http.Request) {
	count, err := strconv.Atoi(r.PathValue("count"))
	m, merr := strconv.ParseUint(r.URL.Query().Get("m"), 10, 64)
	if err != nil || merr != nil {
		http.Error(w, "count and m are numbers", http.StatusBadRequest)
		return
	}
	body, err := json.Marshal(dataset.Respond(count, m))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

func sleep(w http.ResponseWriter, r *http.Request) {
	ms, err := strconv.Atoi(r.PathValue("ms"))
	if err != nil {
		http.Error(w, "ms is a number", http.StatusBadRequest)
		return
	}
	time.Sleep(time.Duration(ms) * time.Millisecond)
	w.Header().Set("Content-Type", "text/plain")
	w.Write([]byte("ok"))
}

// Counts the bytes as they come, and keeps none.
func upload(w http.ResponseWriter, r *http.Request) {
	count, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	w.Write([]byte(strconv.FormatInt(count, 10)))
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: nethttp ADDRESS DATASET")
	}
	if err := dataset.Load(os.Args[2]); err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", hello)
	mux.HandleFunc("GET /json/{count}", items)
	mux.HandleFunc("GET /sleep/{ms}", sleep)
	mux.HandleFunc("POST /upload", upload)
	log.Fatal(http.ListenAndServe(os.Args[1], mux))
}
