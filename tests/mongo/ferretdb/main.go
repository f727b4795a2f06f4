// FerretDB over SQLite, embedded: a server of MongoDB's wire protocol that the Go tools build anywhere.
//
// The stock command of this version does not start unless it is built from its repository, for lack of a version file.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:27017", "the TCP address to listen on; port 0 takes a free one")
	directory := flag.String("directory", ".", "where the databases' files are kept; it must exist")
	flag.Parse()

	database, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: *listen},
		Logger:    slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Handler:   "sqlite",
		SQLiteURL: "file:" + *directory + "/",
	})
	if err != nil {
		log.Fatal(err)
	}
	running, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The address is known once it runs: this waits for it.
	go func() { fmt.Println("listening on", database.MongoDBURI()) }()
	if err := database.Run(running); err != nil {
		log.Fatal(err)
	}
}
