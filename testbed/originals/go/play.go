// Plays clock scripts to an original of Go. README.md describes the script.
package main

import (
	"bufio"
	"fmt"
	"os"
	"time"

	"originals/told"

	"github.com/bwmarrin/snowflake"
	"github.com/sony/sonyflake"
)

type generator func() (uint64, error)

var originals = map[string]func(worker int64) (generator, error){
	"bwmarrin": func(worker int64) (generator, error) {
		node, err := snowflake.NewNode(worker)
		if err != nil {
			return nil, err
		}
		return func() (uint64, error) { return uint64(node.Generate()), nil }, nil
	},
	// The registry has only version 1. It has version 2's rule, except for the start of time.
	"sonyflake": func(worker int64) (generator, error) {
		generator, err := sonyflake.New(sonyflake.Settings{
			StartTime: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC),
			MachineID: func() (uint16, error) { return uint16(worker), nil },
		})
		if err != nil {
			return nil, err
		}
		return generator.NextID, nil
	},
}

func main() {
	start := originals[os.Args[1]]
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriterSize(os.Stdout, 1<<16)
	defer out.Flush()
	var next generator
	for {
		var word string
		var number, random int64
		if _, err := fmt.Fscanln(in, &word, &number, &random); err != nil {
			return
		}
		switch word {
		case "at":
			told.Set(number)
			told.During(0)
			next = nil
		case "pass":
			told.Pass(number)
		case "step":
			told.Step(number)
		case "during":
			told.During(number)
		case "start":
			var err error
			told.Call()
			if next, err = start(number); err != nil {
				fmt.Fprintf(out, "!%v\n", err)
			} else {
				fmt.Fprintln(out, "started")
			}
		case "ids":
			for ; number > 0 && next != nil; number-- {
				told.Call()
				if id, err := next(); err != nil {
					fmt.Fprintf(out, "!%v\t", err)
				} else {
					fmt.Fprintf(out, "%d\t", int64(id))
				}
			}
			fmt.Fprintf(out, "%d\n", told.Wall())
		default:
			panic(word)
		}
	}
}
