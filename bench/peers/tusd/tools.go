//go:build tools

// Package tusd pins the tus server that uploads are measured beside.
package tusd

import _ "github.com/tus/tusd/v2/cmd/tusd"
