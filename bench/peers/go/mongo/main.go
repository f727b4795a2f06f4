package main

import (
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	driver "go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

func hello(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	w.Write([]byte("Hello, World!"))
}

func answer(w http.ResponseWriter, office *office) {
	body, err := json.Marshal(office)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

func find(offices *mongo.Collection) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id, err := bson.ObjectIDFromHex(r.PathValue("id"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var found office
		err = offices.FindOne(r.Context(), bson.D{{Key: "_id", Value: id}}).Decode(&found)
		if errors.Is(err, mongo.ErrNoDocuments) {
			http.Error(w, "not found", http.StatusNotFound)
		} else if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		} else {
			answer(w, &found)
		}
	}
}

func constant(path string) (*office, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	constant := new(office)
	return constant, json.Unmarshal(text, constant)
}

func collection(uri string) (*mongo.Collection, error) {
	parsed, err := connstring.Parse(uri)
	if err != nil {
		return nil, err
	}
	client, err := mongo.Connect(driver.Client().ApplyURI(uri))
	if err != nil {
		return nil, err
	}
	return client.Database(parsed.Database).Collection("offices"), nil
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: mongo ADDRESS MONGODB_URI OFFICE")
	}
	constant, err := constant(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	offices, err := collection(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", hello)
	mux.HandleFunc("GET /office/json", func(w http.ResponseWriter, _ *http.Request) { answer(w, constant) })
	mux.HandleFunc("GET /mongo/office/{id}", find(offices))
	log.Fatal(http.ListenAndServe(os.Args[1], mux))
}
