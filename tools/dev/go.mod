module github.com/holdfast-dev/holdfast/tools/dev

go 1.26.0

require github.com/holdfast-dev/holdfast/tools/toolbox v0.0.0

replace github.com/holdfast-dev/holdfast/tools/toolbox => ../toolbox
