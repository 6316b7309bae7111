module github.com/holdfast-dev/holdfast/tools/toolbox

go 1.26.0
