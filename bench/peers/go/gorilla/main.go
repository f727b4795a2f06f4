package main

import (
	"log"
	"net/http"
	"os"
	"sync"

	"github.com/gorilla/websocket"
)

// The load is never behind by more than one publication.
const maxPublicationsBehind = 64

var upgrader = websocket.Upgrader{
	CheckOrigin:       func(*http.Request) bool { return true },
	EnableCompression: true,
	WriteBufferPool:   &sync.Pool{},
}

// A topic is the queues of those who have joined it.
type topic struct {
	mutex   sync.Mutex
	members map[chan *websocket.PreparedMessage]struct{}
}

var (
	topicsMutex sync.Mutex
	topics      = map[string]*topic{}
)

func echo(w http.ResponseWriter, r *http.Request) {
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	for {
		kind, message, err := conn.ReadMessage()
		if err != nil || conn.WriteMessage(kind, message) != nil {
			return
		}
	}
}

func converse(w http.ResponseWriter, r *http.Request) {
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	joined := find(r.PathValue("name"))
	queue := joined.join()
	defer joined.leave(queue)
	go deliver(conn, queue)
	for {
		kind, message, err := conn.ReadMessage()
		if err != nil {
			return
		}
		prepared, err := websocket.NewPreparedMessage(kind, message)
		if err != nil {
			return
		}
		joined.publish(prepared)
	}
}

func deliver(conn *websocket.Conn, queue chan *websocket.PreparedMessage) {
	for message := range queue {
		if conn.WritePreparedMessage(message) != nil {
			conn.Close()
		}
	}
}

func find(name string) *topic {
	topicsMutex.Lock()
	defer topicsMutex.Unlock()
	found := topics[name]
	if found == nil {
		found = &topic{members: map[chan *websocket.PreparedMessage]struct{}{}}
		topics[name] = found
	}
	return found
}

func (t *topic) join() chan *websocket.PreparedMessage {
	queue := make(chan *websocket.PreparedMessage, maxPublicationsBehind)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.members[queue] = struct{}{}
	return queue
}

func (t *topic) leave(queue chan *websocket.PreparedMessage) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.members, queue)
	close(queue)
}

func (t *topic) publish(message *websocket.PreparedMessage) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for queue := range t.members {
		select {
		case queue <- message:
		default:
		}
	}
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: gorilla ADDRESS")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ws", echo)
	mux.HandleFunc("GET /ws/topic/{name}", converse)
	log.Fatal(http.ListenAndServe(os.Args[1], mux))
}
