// Package dataset is the work of /json/{count}?m={m}, the same for both Go peers.
package dataset

import (
	"encoding/json"
	"os"
)

type Rating struct {
	Score uint32 `json:"score"`
	Count uint32 `json:"count"`
}

type Item struct {
	ID       uint32   `json:"id"`
	Name     string   `json:"name"`
	Category string   `json:"category"`
	Price    uint64   `json:"price"`
	Quantity uint64   `json:"quantity"`
	Active   bool     `json:"active"`
	Tags     []string `json:"tags"`
	Rating   Rating   `json:"rating"`
}

type Priced struct {
	*Item
	Total uint64 `json:"total"`
}

type Answer struct {
	Items []Priced `json:"items"`
	Count int      `json:"count"`
}

var items []Item

// Load reads the data set; it comes before the first Respond.
func Load(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, &items)
}

// Respond gives the first count items (at most all of them), each with total = price * quantity * m.
func Respond(count int, m uint64) Answer {
	chosen := items[:min(max(count, 0), len(items))]
	priced := make([]Priced, len(chosen))
	for i := range chosen {
		priced[i] = Priced{Item: &chosen[i], Total: chosen[i].Price * chosen[i].Quantity * m}
	}
	return Answer{Items: priced, Count: len(priced)}
}
